"""The program under construction: statements, names, and what each buffer's variable holds at this point."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

from msgspec import Struct, field

from egraph_rules.cost.target import CPU, Target
from ir.naming import fresh
from ir.nodes import Buffer, Var
from lower.array.exact_values import EXACT_HELPERS
from lower.array.job import Job
from lower.array.reduction_start import Start
from lower.array.values import Value
from lower.emission.joined_parts import Part, joined
from lower.emission.stage_barrier import is_kept
from lower.nest.nodes import ArrayStatement, Box
from lower.program.build import assign
from lower.program.nodes import Assign, JaxExpr, JaxStmt, Name, names_bound, names_read
from lower.tensor.known import Known

RESERVED = {
    "jax",
    "jnp",
    "lax",
    "np",
    "functools",
    "truncdiv",
    "linear_scan",
    "saturated_sum",
    "restarted_scan",
    "prefix_sums",
    "windows",
    "kept",
    "once",
    "in_memory",
    "set_xla_metadata",
    "doubling_sums",
    "pairwise_sums",
    "in_turn",
    "filtered",
    "filtered_in_blocks",
    "differences",
    "from_differences",
    "response",
    "response_in_parts",
    "Fraction",
    "in_ranges",
    "reduce_ranges",
    "reduce_rows",
    "cholesky_factor",
    "cholesky_factor_jvp",
    "loop_between",
    "loop_between_given",
    "loop_between_jvp",
    "loop_until",
    "loop_between_until",
    "loop_between_until_given",
    "loop_between_until_jvp",
    "chosen",
    "with_all_given",
    "as_number",
    "numbers",
    "chosen_of_two",
    "chosen_of_two_jvp",
    "windows_at",
    "stores",
    "writers",
    "first_best",
    "first_true",
    "last_best",
    "places_of_largest",
    "places_in_passes",
    "last_first",
    "integer_einsum",
    "state",
    *EXACT_HELPERS,
    *keyword.kwlist,
    *dir(builtins),
}


class Names:
    """Python names for buffers, variables and helpers: the author's where possible, all distinct."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used = set(taken)
        self._of: dict[object, str] = {}

    def of(self, thing: Buffer | Var) -> str:
        """The name of a buffer or variable. Variables of one name share it: loops that follow each other reuse it."""
        key: object = ("buffer", thing.name) if isinstance(thing, Buffer) else ("var", thing.name)
        if key not in self._of:
            self._of[key] = self.fresh(thing.name)
        return self._of[key]

    def of_instruction(self, name: str) -> str:
        """The name of the function that computes an instruction."""
        key: object = ("instruction", name)
        if key not in self._of:
            self._of[key] = self.fresh(name)
        return self._of[key]

    @contextmanager
    def local(self) -> Generator[None]:
        """Names of helpers that are made meanwhile may be made again; buffers and variables keep theirs."""
        before = set(self._used)
        yield
        self._used = before | set(self._of.values())

    def fresh(self, wish: str) -> str:
        """A new name close to `wish`."""
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in wish) or "x"
        if base[0].isdigit():
            base = "_" + base
        if base in RESERVED:
            base += "_"
        return fresh(base, self._used, first=2)


class Region(Struct, frozen=True):
    """Where a store is to: the index list, nothing of it for a whole buffer, dimensions that are merged, the mask."""

    marks: tuple[JaxExpr, ...] = ()
    merged: tuple[tuple[int, JaxExpr | None], ...] = ()
    mask: JaxExpr | None = None


class Fill(Struct, frozen=True):
    """A store of a constant that is not written out yet: a reduction may start from it."""

    place: Region
    value: Value
    stmt: Assign
    whole: bool


class Held(Struct):
    """A store of array values that is not written out yet: what reads just these elements next takes the values.

    One store at the end instead of several in between lets XLA update a buffer in place. `stmt` is the store where
    nothing came between, to stand at `at`; `assign` gives the store of a named value. `late`, if it may be, gives the
    store of a named `raw` value, to what the buffer then holds: where its mask is false, that stays. It may do what
    several statements did, one after the other: `nodes`. `everywhere` stores to a part by a mask over the whole buffer.
    """

    place: Region
    job: Job
    nodes: tuple[ArrayStatement, ...]
    value: Value
    at: int
    stmt: Assign
    assign: Callable[[Value], Assign]
    number: int
    raw: Value
    late: Callable[[Value], Assign] | None
    fresh: Callable[[], str]
    everywhere: Callable[[Value], Assign] | None = None
    named: Value | None = None

    @property
    def whole(self) -> bool:
        """Whether it stores to all of a buffer but for a mask."""
        return not self.place.marks


class Scope(Struct):
    """One function body. A loop body is a child scope: what it assigns is its own."""

    stmts: list[JaxStmt] = field(default_factory=list[JaxStmt])
    around: dict[Var, Box] = field(default_factory=dict[Var, Box])
    loop_vars: frozenset[Var] = frozenset()
    carried: frozenset[Buffer] = frozenset()  # from one step of the innermost loop to the next
    boxed: frozenset[Var] = frozenset()
    defined: dict[str, JaxExpr] = field(default_factory=dict[str, JaxExpr])
    fills: dict[Buffer, Fill] = field(default_factory=dict[Buffer, Fill])
    held: dict[Buffer, Held] = field(default_factory=dict[Buffer, Held])
    parked: dict[Buffer, list[Held]] = field(default_factory=dict[Buffer, "list[Held]"])
    starts: dict[Buffer, Start] = field(default_factory=dict[Buffer, Start])
    known: dict[Buffer, Known] = field(default_factory=dict[Buffer, Known])
    absent: dict[Buffer, Assign] = field(default_factory=dict[Buffer, Assign])
    outer: dict[str, JaxExpr] = field(default_factory=dict[str, JaxExpr])  # what names from outside hold that change
    own: set[str] = field(default_factory=set[str])
    wide: dict[JaxExpr, tuple[str, str]] = field(default_factory=dict[JaxExpr, tuple[str, str]])
    whole: dict[str, tuple[JaxExpr, frozenset[str]]] = field(default_factory=dict[str, tuple[JaxExpr, frozenset[str]]])
    chains: dict[str, float] = field(default_factory=dict[str, float])  # work of an element that readers compute anew
    tables: set[str] = field(default_factory=set[str])  # what is made of positions and numbers alone
    looked_up: set[str] = field(default_factory=set[str])  # what is made of elements at places that data say
    sizes: dict[str, float] = field(default_factory=dict[str, float])  # elements of those of which `chains` tells
    target: Target = CPU
    parts: dict[JaxStmt, Part] = field(
        default_factory=dict[JaxStmt, Part]
    )  # of arrays, by the statements that store them
    count: int = 0
    in_function: bool = False  # which is compiled as one

    def child(self) -> Scope:
        """The body of a function in this one."""
        defined = dict(self.defined)
        inside = self.in_function
        return Scope(
            [],
            dict(self.around),
            self.loop_vars,
            self.carried,
            self.boxed,
            defined,
            target=self.target,
            in_function=inside,
        )

    def written(self, name: str) -> None:
        """A buffer's variable has changed: padded copies of it are out of date, and what is known of others by it."""
        self.wide = {code: (wide, of) for code, (wide, of) in self.wide.items() if of != name}
        self.whole = {n: (code, of) for n, (code, of) in self.whole.items() if n != name and name not in of}

    def next(self) -> int:
        """A number larger than all before."""
        self.count += 1
        return self.count

    def add(self, stmt: JaxStmt) -> None:
        self.stmts.append(stmt)

    def assign(self, name: str, code: JaxExpr) -> None:
        self.stmts.append(assign(name, code))

    def arrived(self, buffer: Buffer, name: str) -> bool:
        """Whether a buffer of a name came into this function or step as it is."""
        waits = self.pending(buffer) or buffer in self.fills or buffer in self.absent
        return not waits and not self.assigned_since(0, name)

    def assigned_since(self, at: int, name: str) -> bool:
        """Whether a statement from `at` on may give a name another value."""
        return any(name in names_bound(stmt) for stmt in self.stmts[at:])

    def mentioned_since(self, at: int, name: str) -> bool:
        """Whether a statement from `at` on has a name in it."""
        return any(name in names_bound(stmt) or name in names_read(stmt) for stmt in self.stmts[at:])

    def define(self, name: str, code: JaxExpr) -> str:
        """Assign a helper array unless it holds that already."""
        if self.defined.get(name) == code:
            return name
        if name in self.defined:  # what was said in terms of the old one ends here
            self.flush_all()
            if name not in self.own:
                self.outer[name] = self.defined[name]
            self.whole = {}
            self.defined = {n: c for n, c in self.defined.items() if name not in names_read(c)}
        self.assign(name, code)
        self.defined[name] = code
        self.own.add(name)
        return name

    def body(self) -> list[JaxStmt]:
        """All statements. A name that changes here is this function's own from its first one on."""
        fuses = self.target.name == CPU.name and not self.loop_vars
        stmts = joined(self.stmts, self.parts, self._is_kept if fuses else None)
        return [*(assign(name, code) for name, code in self.outer.items()), *stmts]

    def _is_kept(self, name: str, reads: int, elements: float) -> bool:
        """Whether so many parts of an array rather read what they have in common from memory."""
        work, elements = self.chains.get(name, 0.0), min(elements, self.sizes.get(name, elements))
        return work > 0 and is_kept(work, reads, elements, self.target, slow=name in self.looked_up)

    def hold(self, buffer: Buffer, fill: Fill) -> None:
        """Keep a fill back until its buffer is read or stored to."""
        self.fills[buffer] = fill

    def insert(self, what: Held, stmt: JaxStmt) -> None:
        """Add a statement where a store was held back; what was held back there later stays behind it."""
        self._insert(what, stmt, ())

    def _insert(self, what: Held, stmt: JaxStmt, more: Iterable[Held]) -> None:
        self.stmts.insert(what.at, stmt)
        at, number = what.at, what.number
        for held in (*more, *self.held.values(), *(h for several in self.parked.values() for h in several)):
            held.at += (held.at, held.number) > (at, number)

    def pending(self, buffer: Buffer) -> list[Held]:
        """Stores to a buffer that are not written out, in order. All but the last are apart from each other."""
        held = self.held.get(buffer)
        return [*self.parked.get(buffer, ()), *([] if held is None else [held])]

    def park(self, buffer: Buffer) -> None:
        """Keep a held store back although another one comes, to other elements."""
        self.parked.setdefault(buffer, []).append(self.held.pop(buffer))

    def take(self, held: Held) -> Value:
        """The values of a held store under a name, worked out where the store stood."""
        if held.named is None:
            name = held.fresh()
            held.named = Value(Name(name), held.value.axes)
            self.insert(held, assign(name, held.value.code))
        return held.named

    def forget(self, buffer: Buffer) -> None:
        """Nobody looks at a buffer any more."""
        for kept in (self.fills, self.held, self.parked):
            kept.pop(buffer, None)

    def flush_all(self) -> None:
        """Write out all that is held back."""
        for buffer in [*self.fills, *self.held, *self.parked]:
            self.flush(buffer)

    def flush(self, buffer: Buffer) -> None:
        """Write out what is held back for a buffer."""
        parked, held = self.parked.pop(buffer, None), self.held.pop(buffer, None)
        if parked is not None:
            self._write_late(parked, held)
        elif held is not None and held.named is None:
            self.insert(held, held.stmt)
        elif held is not None and held.named is not None:
            self.add(held.assign(held.named))
        fill = self.fills.pop(buffer, None)
        if parked or held is not None or fill is not None:
            self.wide, self.whole = {}, {}
        if fill is not None:
            self.need(buffer, whole=fill.whole)
            self.add(fill.stmt)

    def _write_late(self, parked: list[Held], held: Held | None) -> None:
        """Write stores to parts that are apart. Where one is to the whole buffer under a mask, others join its pass."""
        stores = [*parked, *([] if held is None else [held])]
        values: list[Value] = []
        for k, h in enumerate(stores):
            if h.named is None:
                name = h.fresh()
                values.append(Value(Name(name), h.raw.axes))
                self._insert(h, assign(name, h.raw.code), stores[k + 1 :])
            else:
                values.append(h.named)
        one_pass = any(h.whole for h in stores)
        for h, value in sorted(zip(stores, values, strict=True), key=lambda s: s[0].everywhere is None):
            write = h.everywhere if one_pass and h.everywhere is not None else h.late
            assert write is not None
            self.add(write(value))

    def need(self, buffer: Buffer, whole: bool = False) -> None:
        """Make sure that the buffer's variable exists; not needed where it is `whole`ly assigned next."""
        creation = self.absent.pop(buffer, None)
        if creation is not None and not whole:
            self.add(creation)

    def current(self, buffer: Buffer) -> None:
        """Make the buffer's variable hold its contents."""
        if buffer in self.fills or buffer in self.held or buffer in self.parked:
            self.flush(buffer)
        else:
            self.need(buffer)
