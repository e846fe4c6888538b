"""The price of array code: operations on arrays as JAX traces them, with what a compiler fuses counted once.

An operation on elements is computed where it is used: its price belongs to every array that is stored and needs it.
Stored are results, operands of products and scatters, and what goes through a loop. Views (a slice, a reshape, a
broadcast) cost nothing by themselves; what is read through them does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from math import frexp, isfinite, log2, prod
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import SLOW, Target

_SHAPES = frozenset(("reshape", "squeeze", "expand_dims", "broadcast_in_dim", "copy", "stop_gradient", "copy_p"))
_SPECIAL = frozenset(
    (
        "exp", "exp2", "log", "log1p", "expm1", "sqrt", "rsqrt", "cbrt", "tanh", "sin", "cos", "tan", "erf",
        "erf_inv", "erfc", "logistic", "pow", "asin", "acos", "atan", "atan2", "sinh", "cosh", "lgamma", "digamma",
    )
)  # fmt: skip
_SLOW = SLOW | {"pow", "cbrt"}
_DIVISION = frozenset(("div", "rem"))
_REDUCTIONS = frozenset(
    (
        "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor", "reduce",
        "argmax", "argmin",
    )
)  # fmt: skip
# Reductions of floats that a library of XLA:CPU takes, together with arithmetic that is done for them alone.
_TAKEN_REDUCTIONS = frozenset(("reduce_sum", "reduce_max", "reduce_min"))
_TAKEN = frozenset(
    ("add", "sub", "mul", "div", "max", "min", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "square", "sign")
)
_NUMBERS: Mapping[str, Callable[..., float]] = {
    "add": float.__add__, "sub": float.__sub__, "mul": float.__mul__, "neg": float.__neg__, "max": max, "min": min,
}  # fmt: skip
_CUMULATIVE = frozenset(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"))
_LIBRARY = frozenset(("triangular_solve", "cholesky", "lu", "qr", "eigh", "svd"))
_KEPT = frozenset(("optimization_barrier", "scan", "while", "cond"))  # not merged with others that are the same
_PARTS = ("slice", "dynamic_slice", "rev", "transpose")
_INLINED = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call")

_ENDLESS = 1 << 20  # steps of a loop that may end before: nobody waits for so many
_LINE = 16  # elements of a cache line
_COPIES = 15  # of one computation in another that XLA makes before it stores what is computed

CallPrice = Callable[[tuple[int, ...]], float]  # of an instruction, for the shape of its first result


class _Array(Struct, frozen=True):
    """A value: how many elements, and the work that is done anew wherever it is used, as bits of the operations.

    `width`: how wide an element is, next to one of 32 bits.
    `stored`: it lies in memory; `size` is then what is read of it. `data`: it depends on arguments. `masked`: a choice
    by a condition on elements is part of it; `cut`: it is a part of what is stored, or has something put around it.
    `own`: nothing else holds its memory, so that it can be changed in place. `joined`: it is made of parts.
    `plain`: it is made of whole arrays by operations on their elements alone, with no number among them.
    `taken`: what a reduction reads that takes in the arithmetic on floats that made it, and the work of that.
    `turned`: the array of which it is a transposed view, and in which order it has the axes of that.
    `wanted`: it is a result, or several operations want it.
    `number`: what a single value is expected to be, if it is known. `same`: what has the same is worked out once.
    `updated`: a step of a loop has stored to a part of it.
    """

    size: int
    work: int = 0
    width: float = 1.0
    stored: bool = False
    data: bool = False
    masked: bool = False
    cut: bool = False
    transposed: bool = False
    own: bool = False
    joined: bool = False
    plain: bool = False
    taken: tuple[tuple[_Array, ...], int] | None = None
    turned: tuple[_Array, tuple[int, ...]] | None = None
    wanted: bool = False
    number: float | None = None
    same: Hashable = None
    updated: bool = False


class ArrayPrices(Struct):
    """Prices of the array code of one program on a target.

    `instructions` are the prices of functions in it that have one, for the shape of their first result.
    """

    target: Target
    instructions: Mapping[str, CallPrice] = field(default_factory=dict[str, CallPrice])

    def program(self, closed: Any) -> float:
        """The price of a traced function (a closed jaxpr) that is run once."""
        arguments = [_Array(_size(v.aval), width=_width(v.aval), stored=True, data=True) for v in closed.jaxpr.invars]
        block = _Block(self.target, False, self.instructions)
        results = block.run(closed.jaxpr, arguments)
        for result in results:
            block.store(result)
        return block.price + self.target.call


class _Block(Struct):
    """The operations of one function or of a loop's body; `price` adds up what each run of it stores. It is run so
    many `times`; `several`: each of them changes several arrays."""

    target: Target
    inside: bool
    instructions: Mapping[str, CallPrice]
    times: float = 1.0
    several: bool = False
    price: float = 0.0
    work: list[float] = field(default_factory=lambda: list[float]())
    slices: dict[Hashable, int] = field(default_factory=lambda: dict[Hashable, int]())
    known: dict[Hashable, list[_Array]] = field(default_factory=lambda: dict[Hashable, list[_Array]]())
    copies: dict[int, tuple[int, int]] = field(default_factory=lambda: dict[int, tuple[int, int]]())
    turned: dict[Hashable, int] = field(default_factory=lambda: dict[Hashable, int]())
    memory: dict[tuple[int, int], _Array] = field(default_factory=lambda: dict[tuple[int, int], _Array]())
    held: dict[int, _Array] = field(default_factory=lambda: dict[int, _Array]())
    of_updated: int = 0  # the work of reading arrays to which the step has stored

    def run(
        self,
        jaxpr: Any,
        arguments: Sequence[_Array],
        kept: Collection[Any] = (),
        known: Mapping[Any, _Array] = MappingProxyType({}),
        *,
        inlined: bool = False,
    ) -> list[_Array]:
        """The results of a jaxpr for arguments. What is `kept` is stored anyway, so that slices of it are read; all
        results are, if it is not `inlined`. What is `known` was worked out elsewhere."""
        wanted = _wanted(jaxpr, inlined)
        env: dict[Any, _Array] = dict(zip(jaxpr.invars, map(_apart, arguments), strict=True))
        env.update(known)
        for var in jaxpr.constvars:
            env[var] = _apart(_Array(_size(var.aval), stored=True))
        for eqn in jaxpr.eqns:
            if known and all(v in known for v in eqn.outvars):
                continue
            if eqn.primitive.name == "slice" and eqn.invars[0] in kept:
                env[eqn.invars[0]] = self.store(env[eqn.invars[0]])
            operands = [_literal(v) if _is_literal(v) else env[v] for v in eqn.invars]
            for var, found in zip(eqn.outvars, self._once(eqn, operands), strict=True):
                env[var] = replace(found, width=_width(var.aval), wanted=found.wanted or var in wanted)
        return [_literal(v) if _is_literal(v) else env[v] for v in jaxpr.outvars]

    def _once(self, eqn: Any, operands: list[_Array]) -> list[_Array]:
        """The results of an operation, which compilers do not repeat on the same operands."""
        if any(key in eqn.params for key in _INLINED) or eqn.primitive.name in _KEPT:
            return list(map(_apart, self._operation(eqn, operands)))
        key = (eqn.primitive.name, str(eqn.params), *(o.same for o in operands), *(str(v.aval) for v in eqn.outvars))
        if key not in self.known:
            self.known[key] = [replace(r, same=object()) for r in self._operation(eqn, operands)]
        return self.known[key]

    # Work and memory.

    def store(self, value: _Array, terms: int = 1) -> _Array:
        """The value in memory; an array that is there already costs nothing. Each element is made of so many terms."""
        if value.stored and not (value.transposed or value.cut):
            return value
        key = value.work, value.size
        if value.work and key in self.memory:
            return self.memory[key]
        t = self.target
        done = self._done(self._read(replace(value, wanted=False)).work)
        if value.size == 1 and terms <= operations.UNROLLED_ROW:
            work = done + t.store
            self.price += operations.single(t, work, several=self.several) if self.inside else work
        else:
            again = t.plain * value.size if value.plain and not value.stored else 0.0
            self.price += done + again + t.store * value.size * value.width + (t.launch if self.inside else t.operation)
        if 4 * value.width * value.size >= t.fresh_bytes:
            self.price += t.fresh * value.size
        stored = _Array(value.size, 0, value.width, stored=True, data=value.data, own=True, same=value.same)
        if value.work:
            self.memory[key] = replace(stored, own=False)
        return stored

    def _held(self, value: _Array) -> _Array:
        """A value, from memory where it is stored in any case and more work to make than to read."""
        if value.stored or not value.wanted or value.size == 1 or value.transposed:
            return value
        reading = self.target.load * value.size + self.target.least_launch  # and storing it is a statement
        return self.store(value) if self._done(value.work) > reading else value

    def _done(self, work: int) -> float:
        """The price of work, each operation once."""
        total = 0.0
        while work:
            low = work & -work
            total += self.work[low.bit_length() - 1]
            work ^= low
        return total

    def _add(self, price: float) -> int:
        """Work of its own."""
        self.work.append(price)
        return 1 << (len(self.work) - 1)

    def _read(self, value: _Array) -> _Array:
        """The value with the work of reading it."""
        value = self._held(value)
        if not value.stored or value.work:
            return value
        if not value.transposed:
            work = self._add(self.target.load * value.size * value.width)
            self.of_updated |= work if value.updated else 0
            return replace(value, work=work)
        key = value.same, value.size  # it is brought in order once, however often it is named
        if key not in self.turned:
            self.turned[key] = self._add((self.target.load + self.target.gather) * value.size)
        return replace(value, work=self.turned[key])

    # Operations.

    def _operation(self, eqn: Any, operands: list[_Array]) -> list[_Array]:
        name: str = eqn.primitive.name
        sizes = [_size(v.aval) for v in eqn.outvars]
        inner = next((eqn.params[key] for key in _INLINED if key in eqn.params), None)
        if name in ("scan", "while", "cond"):
            return getattr(self, f"_{name}")(eqn, operands)
        if inner is not None and eqn.params.get("name") in self.instructions:
            price = self.instructions[eqn.params["name"]](tuple(eqn.outvars[0].aval.shape))
            return [self._library(operands, [sizes[0]], price), *map(_stored, sizes[1:])]
        if inner is not None and eqn.params.get("name") == "in_memory":
            return [self.store(o) for o in operands]
        if inner is not None and eqn.params.get("name") == "with_all_read":
            return self._function(inner.jaxpr, operands)
        if inner is not None and name not in _REDUCTIONS and not name.startswith("scatter"):
            return self.run(inner.jaxpr if hasattr(inner, "jaxpr") else inner, operands, inlined=True)
        if name in _SHAPES:
            return [self._view(operands[0], sizes[0])]
        if name in _PARTS:
            return [self._part(name, eqn, operands, sizes[0])]
        if name in _REDUCTIONS:
            return [self._reduction(name, eqn, operands, size) for size in sizes]
        if name == "dot_general":
            return [self._product(eqn, operands, sizes[0])]
        if name == "gather":
            return [self._gather(eqn, operands, sizes[0])]
        if name.startswith("scatter"):
            return [self._scatter(eqn, operands)]
        if name == "dynamic_update_slice":
            more = self._into_column(eqn.invars[1].aval.shape, eqn.invars[0].aval.shape)
            return [self._update(operands[0], operands[1], more)]
        if name == "optimization_barrier":
            return [self.store(o) for o in operands]
        if name == "pad":
            return [self._taken(operands[:1], sizes[0], self.target.padded_read, cut=True)]
        if name == "concatenate":
            apart = [self.store(o) if o.joined else o for o in operands]  # one is not compiled into another
            rank = len(eqn.outvars[0].aval.shape)
            inner = rank > 1 and eqn.params["dimension"] == rank - 1  # the innermost loop jumps from part to part
            each = self.target.padded_branch if inner else self.target.select
            return [replace(self._elements(apart, sizes[0], each, cut=True), joined=True)]
        if name == "select_n":
            masked = operands[0].size > 1
            expected = operands[-1].number  # lowering asks for what it expects of data
            return [replace(self._elements(operands, sizes[0], self.target.select), masked=masked, number=expected)]
        if name == "convert_element_type" and operands[0].number is not None:
            return [replace(operands[0], size=sizes[0])]
        return self._other(name, eqn, operands, sizes)

    def _other(self, name: str, eqn: Any, operands: list[_Array], sizes: list[int]) -> list[_Array]:
        """What takes a pass or a library of its own, or an operation on elements."""
        t = self.target
        if name == "conv_general_dilated":
            outs, channels, *taps = (eqn.invars[1].aval.shape[k] for k in eqn.params["dimension_numbers"].rhs_spec)
            work = operations.convolution(t, sizes[0] / max(outs, 1), outs, channels, taps)
            return [self._library(operands, sizes, work)]
        if name in _LIBRARY:
            rows = eqn.invars[0].aval.shape[-1]
            each = rows * t.contraction + t.load
            once = t.launch * t.library + rows * t.library_row
            return [self._library(operands, sizes, once + sum(sizes) * each)] * len(sizes)
        if name == "sort":
            length = eqn.invars[0].aval.shape[eqn.params["dimension"]]
            work = operations.sort(t, sum(sizes), length)
            return [self._library(operands, [size], work / len(sizes)) for size in sizes]
        if name == "top_k":
            length = eqn.invars[0].aval.shape[-1]
            count = eqn.params["k"]
            work = operations.largest(t, sizes[0] / max(count, 1), length, count)
            return [self._library(operands, [size], work / len(sizes)) for size in sizes]
        if name in _CUMULATIVE:
            return [self._library(operands, sizes, t.scatter * sizes[0])]
        if name.startswith(("reduce_window", "reduce_p")):
            window = prod(eqn.params.get("window_dimensions", (1,)))
            return [self._library(operands, sizes, window * (t.load + t.arith) * sizes[0])]
        if name in _SLOW:
            each = t.slow_function
        else:
            by_shift = len(operands) == 2 and _is_power_of_two(operands[1].number)
            divides = name in _DIVISION and not by_shift
            each = t.special if name in _SPECIAL else t.division if divides else t.arith
        whole = [o.stored and o.data and o.size == sizes[0] and not (o.cut or o.transposed) for o in operands]
        plain = all(w or o.plain for w, o in zip(whole, operands, strict=True))
        plain = plain and name != "convert_element_type"
        taken = name in _TAKEN and eqn.outvars[0].aval.dtype.kind == "f"
        elements = self._taken if taken else self._elements
        numbers = [o.number for o in operands if o.number is not None]
        known = _NUMBERS[name](*numbers) if name in _NUMBERS and len(numbers) == len(operands) else None
        return [replace(elements(operands, size, each), plain=plain, number=known) for size in sizes]

    def _taken(self, operands: Sequence[_Array], size: int, each: float, *, cut: bool = False) -> _Array:
        """An operation on elements that a reduction takes in, with those before that nothing else wants."""
        value = self._elements(operands, size, each, cut=cut)
        work = self._add(each * size)
        read: dict[tuple[int, int, Hashable], _Array] = {}
        for o in operands:
            inner = ((o,), 0) if o.taken is None or o.wanted else o.taken
            read.update({(r.work, r.size, r.same): r for r in inner[0]})
            work |= inner[1]
        return replace(value, taken=(tuple(read.values()), work))

    def _elements(self, operands: Iterable[_Array], size: int, each: float, *, cut: bool = False) -> _Array:
        """An operation on elements, which is done where it is needed."""
        read = [self._read(o) for o in operands]
        work = self._add(each * size * max((o.width for o in read), default=1.0))
        for o in read:
            work |= o.work
        data, masked = any(o.data for o in read), any(o.masked for o in read)
        cut = cut or any(o.cut for o in read)
        return _Array(size, work, data=data, masked=masked, cut=cut)

    def _view(self, value: _Array, size: int) -> _Array:
        """The same elements in another shape, or repeated."""
        if value.stored:
            same = value if size == value.size else replace(value, own=False, size=min(size, value.size))
            return replace(same, turned=None)
        return replace(value, size=size, turned=None)

    def _part(self, name: str, eqn: Any, operands: list[_Array], size: int) -> _Array:
        """A part of an array, or all of it in another order."""
        value = operands[0]
        if name == "transpose":
            return self._transposed(value, tuple(eqn.params["permutation"]), eqn.invars[0].aval.shape)
        cut = size < value.size and value.stored
        if value.stored and not value.work:
            part = replace(value, size=size, own=False, cut=value.cut or cut, turned=None)
            if name == "dynamic_slice" and _is_column(eqn.params["slice_sizes"], eqn.invars[0].aval.shape):
                return self._elements([part], size, self.target.column)
            return part
        if name in ("slice", "dynamic_slice") and 1 < size < value.size:
            return self._recomputed((str(eqn.params), *(o.same for o in operands[1:])), value, size)
        return replace(value, size=size, taken=None, turned=None)

    def _transposed(self, value: _Array, order: tuple[int, ...], shape: tuple[int, ...]) -> _Array:
        """An array with its axes in another order; of one that is such a view itself, what they make together."""
        base, before = value.turned or (value, tuple(range(len(order))))
        together = tuple(before[n] for n in order)
        extents = dict(zip(before, shape, strict=True))
        moved = [d for d in together if extents[d] > 1]
        if moved == sorted(moved):
            return base
        turned = base, together
        base = self._held(base)
        if base.stored and not base.work:
            return replace(base, own=False, transposed=True, turned=turned)
        work = base.work | self._add(self.target.gather * base.size)
        return replace(base, work=work, wanted=False, taken=None, turned=turned)

    def _recomputed(self, part: Hashable, value: _Array, size: int) -> _Array:
        """A slice of what is not stored: what reads it computes that again, for each other slice anew.

        Slices of slices multiply: what would be computed too often is stored.
        """
        copies = self._copies(value.work)
        if copies > _COPIES:
            if value.work not in self.held:
                self.held[value.work] = self.store(value)
            return replace(self.held[value.work], size=size, own=False, cut=True)
        key = value.work, part
        if key not in self.slices:
            self.slices[key] = self._add(self._done(value.work) * size / value.size)
            self.copies[self.slices[key]] = value.work, copies
        return replace(value, size=size, work=self.slices[key])

    def _copies(self, work: int) -> int:
        """How often work computes something anew, by slices of one array."""
        found: dict[int, int] = {}
        for bit, (origin, copies) in self.copies.items():
            if work & bit:
                found[origin] = found.get(origin, 0) + copies
        return max(found.values(), default=1)

    def _reduction(self, name: str, eqn: Any, operands: list[_Array], size: int) -> _Array:
        """A reduction. Where `reductions_apart`, it reads memory: terms are stored that it does not take in."""
        t = self.target
        shape, dtype = eqn.invars[0].aval.shape, eqn.invars[0].aval.dtype
        axes = eqn.params.get("axes", eqn.params.get("dimensions", ()))
        taken = name in _TAKEN_REDUCTIONS and dtype.kind == "f"
        terms, done = max(o.size for o in operands), 0
        shape, axes = _as_it_lies(operands[0], shape, axes)
        operands = [o.turned[0] if o.turned else o for o in operands]
        if t.reductions_apart and not taken and prod(shape[a] for a in axes) > operations.UNROLLED_ROW:
            operands = [self.store(o) for o in operands]
        each = t.arith * terms
        if t.reductions_apart and taken and not (self.inside and size == 1 and terms <= operations.UNROLLED_ROW):
            value = operands[0]
            reads, done = ((value,), 0) if value.taken is None or value.wanted else value.taken
            operands = [self.store(o) if o.data else o for o in reads]
            kept = shape[max(axes) + 1 :]
            each = operations.reduction(t, terms, size, innermost=not kept, columns=prod(kept))
            each += t.reduction_repeated * max((o.size for o in operands if o.data and 2 * o.size <= terms), default=0)
        value = self._elements(operands, terms, each / max(terms, 1))
        value = replace(value, work=value.work | done)
        if name.startswith("arg"):
            value = replace(value, work=value.work | self._add(t.special * value.size))
        if len(shape) - 1 in axes and not t.reductions_apart:
            more = max(t.reduction_mask * value.masked, t.reduction_slice * value.cut)
            value = replace(value, work=value.work | self._add(more * value.size))
        return self.store(_Array(size, value.work, data=value.data), terms // max(size, 1))

    def _product(self, eqn: Any, operands: list[_Array], size: int) -> _Array:
        """A product of arrays: its operands are stored."""
        t = self.target
        (summed, _), (batch, _) = eqn.params["dimension_numbers"]
        shape, dtype = eqn.invars[0].aval.shape, eqn.outvars[0].aval.dtype
        length = prod(shape[d] for d in summed)
        held = [self.store(replace(o, transposed=False)) for o in operands]  # libraries transpose as they read
        each = t.contraction if dtype.kind == "f" else t.integer_contraction
        many = prod(shape[d] for d in batch)
        of_matrices = many > 1 and all(o.size > many * length for o in operands)
        work = self._add(size * length * each + many * t.product_of_batch * of_matrices)
        for o in held:
            work |= self._read(o).work
        matrices = all(o.size > length for o in held)  # each has an axis that the other one has not
        if self.inside:
            self.price += t.launch * t.library if matrices else 0.0
        else:
            self.price += t.product
        return self.store(_Array(size, work, data=any(o.data for o in operands)), length)

    def _library(self, operands: Iterable[_Array], sizes: list[int], price: float) -> _Array:
        held = [self.store(o) for o in operands]
        work = self._add(price)
        for o in held:
            work |= self._read(o).work
        return self.store(_Array(max(sizes), work, data=any(o.data for o in held)))

    def _gather(self, eqn: Any, operands: list[_Array], size: int) -> _Array:
        """Elements or rows by an array of indices; by a single one it is a part of the array."""
        t = self.target
        window = prod(eqn.params["slice_sizes"])
        times = size // max(window, 1)
        value, index = operands[0], self._read(operands[1])
        if times <= 1 and value.stored:
            return replace(value, size=size, own=False, cut=value.cut or size < value.size)
        value = self.store(value)
        each = t.read_by_data if index.data else t.gather
        work = self._add(times * each + size * t.load) | index.work
        return _Array(size, work, data=value.data or index.data, cut=True)

    def _scatter(self, eqn: Any, operands: list[_Array]) -> _Array:
        """A store by an array of indices; by a single one it is a store to a part."""
        t = self.target
        target, index, values = operands[0], self._read(operands[1]), operands[2]
        shape = eqn.invars[1].aval.shape
        times = prod(shape[:-1])
        if times <= 1:
            part = list(eqn.invars[2].aval.shape)
            for d in eqn.params["dimension_numbers"].inserted_window_dims:
                part.insert(d, 1)
            return self._update(target, values, self._into_column(part, eqn.invars[0].aval.shape))
        self.store(replace(index, stored=False))
        return self._update(target, values, t.store_by_data * times)

    def _into_column(self, part: Sequence[int], whole: Sequence[int]) -> float:
        """What it costs besides to store a part of an array: an element of a column has a cache line, or shares it."""
        lines = min(whole[-1] / _LINE, 1.0) if _is_column(part, whole) else 0.0
        return 3 * self.target.column * prod(part) * lines

    def _update(self, target: _Array, values: _Array, more: float) -> _Array:
        """A store to a part of an array, in place where nothing else holds it.

        A step may copy an array to which it stores twice: what the second store reads of it is worked out there again,
        from the array as it was before the first.
        """
        t = self.target
        if not target.own and target.size > 1:
            self.store(replace(target, stored=False, work=self._read(target).work))
        value = self._read(values).work
        if t.stores_copy and target.updated and value & self.of_updated:
            self.price += operations.moved(t, target.size)
        done = self._done(value) + t.store * values.size + more
        if self.inside and values.size == 1:
            self.price += operations.single(t, done, several=self.several)
        else:
            self.price += done + (t.launch if self.inside else t.operation)
        return _Array(target.size, stored=True, data=True, own=True, updated=self.inside and target.size > 1)

    # Loops.

    def _scan(self, eqn: Any, operands: list[_Array]) -> list[_Array]:
        p = eqn.params
        consts, carried = p["num_consts"], p["num_carry"]
        body = p["jaxpr"].jaxpr
        for o in operands[consts + carried :]:
            self.store(o)
        slices = [_Array(_size(v.aval), stored=True, data=True) for v in body.invars[consts + carried :]]
        if p.get("unroll", 1) >= p["length"] and len(body.outvars) == carried:
            return self._in_one_go(body, operands, consts, p["length"], slices)
        together = min(p.get("unroll", 1), max(p["length"], 1))
        steps = p["length"] / together
        price = self._body(body, operands, consts, carried, slices, steps, together) + self.target.step
        self.price += steps * price
        return [_Array(_size(v.aval), stored=True, data=True, own=True) for v in eqn.outvars]

    def _in_one_go(
        self, body: Any, operands: list[_Array], consts: int, length: int, slices: list[_Array]
    ) -> list[_Array]:
        """A loop whose steps are compiled as one: what they hand on to each other is not stored."""
        kept, state = operands[:consts], operands[consts:][: len(body.outvars)]
        for _ in range(length):
            state = self.run(body, [*kept, *state, *slices], inlined=True)
        return state

    def _function(self, jaxpr: Any, operands: list[_Array]) -> list[_Array]:
        """What is compiled as one function: a statement in a loop starts no kernel."""
        given = [self.store(o) for o in operands]
        target, self.target = self.target, operations.in_function(self.target)
        results = self.run(jaxpr, given)
        self.target = target
        return results

    def _while(self, eqn: Any, operands: list[_Array]) -> list[_Array]:
        p = eqn.params
        first, second = p["cond_nconsts"], p["body_nconsts"]
        body = p["body_jaxpr"].jaxpr
        ends = {e.primitive.name for e in p["cond_jaxpr"].jaxpr.eqns}
        bounds = [o.number for o in operands[first + second :][:2]]  # of `fori_loop`: the first step and the last
        known = len(bounds) == 2 and None not in bounds
        steps = max(float(bounds[1] or 0) - float(bounds[0] or 0), 0.0) if known else 0.0
        if not known or (steps > _ENDLESS and len(p["cond_jaxpr"].jaxpr.eqns) > 1):
            # it goes through a part of what it reads, each time another one; others halve what is left, or soon end
            longest = max((o.size for o in operands[first:][:second] if o.stored), default=0)
            steps = min(float(self.target.default_extent), max(longest / self.times, 1.0))
        steps = log2(steps) if ends & _REDUCTIONS else steps
        self.price += steps * (
            self._body(body, operands[first:], second, len(body.outvars), [], steps) + self.target.step
        )
        return [_Array(_size(v.aval), stored=True, data=True, own=True) for v in eqn.outvars]

    def _body(
        self,
        jaxpr: Any,
        operands: list[_Array],
        consts: int,
        carried: int,
        slices: list[_Array],
        steps: float,
        together: int = 1,
    ) -> float:
        """The price of one of some steps, or of several `together`; what is carried lies in memory."""
        kept = [replace(self.store(o), own=False) for o in operands[:consts]]
        state = [replace(self.store(o), own=True, updated=False) for o in operands[consts : consts + carried]]
        block = _Block(self.target, True, self.instructions, self.times * max(steps, 1.0))
        outputs = {v for v in jaxpr.outvars if not _is_literal(v)}
        block.several = sum(_size(v.aval) > 1 for v in jaxpr.outvars[:carried]) > 1
        known, counters = self._invariant(jaxpr, kept), _counters(jaxpr, consts)
        for k in counters:
            begin = operands[consts + k].number
            state[k] = state[k] if begin is None else replace(state[k], number=begin + (steps * together - 1) / 2)
        stored: list[_Array] = []
        for _ in range(together):
            found = block.run(jaxpr, [*kept, *state, *slices], outputs, known)
            state = found[:carried]
            stored += found[carried:]
        sizes: set[int] = set()
        for k, result in enumerate((*state, *stored)):
            if k in counters:
                block.price += self.target.scalar * (block._done(result.work) + self.target.store)
                continue
            block.store(result)
            if self.target.results_together and not result.stored:
                block.price -= self.target.launch if result.size in sizes else 0.0
                sizes.add(result.size)
        return block.price

    def _invariant(self, jaxpr: Any, consts: Sequence[_Array]) -> dict[Any, _Array]:
        """The values that are the same in each step of a loop: compilers work them out before it."""
        env: dict[Any, _Array] = dict(zip(jaxpr.invars, consts, strict=False))
        moved: set[Any] = set()
        for eqn in jaxpr.eqns:
            operands = [v for v in eqn.invars if not _is_literal(v)]
            if eqn.primitive.name not in _KEPT and operands and all(v in env for v in operands):
                values = [_literal(v) if _is_literal(v) else env[v] for v in eqn.invars]
                env.update(zip(eqn.outvars, self._once(eqn, values), strict=True))
                moved.update(eqn.outvars if eqn.primitive.name not in (*_SHAPES, *_PARTS) else ())
        users = [e.invars for e in jaxpr.eqns if not moved.issuperset(e.outvars)]
        read = {v for operands in (*users, jaxpr.outvars) for v in operands if not _is_literal(v)}
        return {v: replace(self.store(env[v]), own=False) if v in read else env[v] for v in moved}

    def _cond(self, eqn: Any, operands: list[_Array]) -> list[_Array]:
        """What is done where the condition holds: lowering asks for what it expects of data."""
        held = [self.store(o) for o in operands[1:]]
        block = _Block(self.target, self.inside, self.instructions, self.times)
        for result in block.run(eqn.params["branches"][-1].jaxpr, held):
            block.store(result)
        self.price += block.price + self.target.launch
        return [_Array(_size(v.aval), stored=True, data=True, own=True) for v in eqn.outvars]


def _counters(jaxpr: Any, consts: int) -> set[int]:
    """Which results of a step are counted on from what it is given in their place: no statements of their own."""
    given = {v: k for k, v in enumerate(jaxpr.invars[consts:])}
    counted = {
        eqn.outvars[0]: given[eqn.invars[0]]
        for eqn in jaxpr.eqns
        if eqn.primitive.name == "add" and _is_literal(eqn.invars[1]) and not _is_literal(eqn.invars[0])
        if eqn.invars[0] in given
    }
    return {
        k
        for k, v in enumerate(jaxpr.outvars)
        if not _is_literal(v) and counted.get(v) == k and not v.aval.shape and v.aval.dtype.kind == "i"
    }


def _as_it_lies(value: _Array, shape: Sequence[int], axes: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The shape that the memory of an array has which may be a transposed view, and some axes of the view in it."""
    if value.turned is None:
        return shape, axes
    order = value.turned[1]
    extents = dict(zip(order, shape, strict=True))
    return [extents[d] for d in sorted(extents)], [order[a] for a in axes]


def _is_column(part: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether a part of an array takes one element of each of several rows."""
    return len(whole) > 1 and part[-1] == 1 < whole[-1] and prod(part) > 1


def _wanted(jaxpr: Any, inlined: bool) -> set[Any]:
    """The variables that several operations want, and the results, if others do not want them instead."""
    uses = Counter(v for eqn in jaxpr.eqns for v in {v for v in eqn.invars if not _is_literal(v)})
    own = set() if inlined else {v for v in jaxpr.outvars if not _is_literal(v)}
    return own | {v for v, n in uses.items() if n > 1}


def _stored(size: int) -> _Array:
    """A further result of what is priced already."""
    return _Array(size, stored=True, data=True, own=True)


def _is_power_of_two(number: float | None) -> bool:
    """Whether a divisor is a number by which integers are divided by shifting them."""
    return number is not None and number >= 1 and isfinite(number) and frexp(number)[0] == 0.5


def _apart(value: _Array) -> _Array:
    """A value that is known to be the same as others only if that has been said of it."""
    return value if value.same is not None else replace(value, same=object())


def _size(aval: Any) -> int:
    return prod(getattr(aval, "shape", ()))


def _width(aval: Any) -> float:
    return operations.width(8 * aval.dtype.itemsize) if hasattr(aval, "dtype") else 1.0


def _is_literal(operand: Any) -> bool:
    """Whether an operand is a number; `jax.extend.core`, which has its class, takes 10 ms to load."""
    return hasattr(operand, "val")


def _literal(value: Any) -> _Array:
    """A constant, which costs nothing."""
    number = float(value.val) if _size(value.aval) == 1 and getattr(value.val, "ndim", 0) == 0 else None
    same = None if number is None else (number, str(value.aval))
    return _Array(_size(value.aval), width=_width(value.aval), number=number, same=same)
