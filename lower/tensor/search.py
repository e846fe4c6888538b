"""The e-graph of tensor terms: saturation under limits, and the cheapest form by a target's prices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache, reduce
from math import prod
from operator import or_

from msgspec import Struct

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from egraph_rules.engine.engine import Engine, Row, kept
from egraph_rules.engine.rounds import Program, Rounds
from egraph_rules.rules import tensor
from egraph_rules.rules.registry import active_tensor_rules
from ir.floats import Floats
from lower.analysis.deciding import cheapest as cheapest_of
from lower.analysis.deciding import settled
from lower.analysis.freedoms import Form, Policy
from lower.tensor.terms import ARITY, NUMBERED, Term

EINSUM = Form(
    "instructions.einsum",
    "sum of x * y over k  =  einsum(x, y)",
    "that is its definition",
    Floats.REASSOCIATE,
)

_ROUNDS = 6
_NODES = 500  # rows after which no further round begins
_CEILING = 5_000  # rows that no round passes
_MOST_REMEMBERED = 256  # results of searches
_WORTH_A_CONSTANT = 1 << 12  # terms of a sum from which on it may be written as a product with ones, which says less
_LEAVES = 14  # terms with more leaves are left as they are

_FACTS = "(saturate (run facts))"
_OPEN = "(set (axes e) (& (| x y) (^ -1 k)))"
_BINARY = ("Add", "Sub", "Mul", "Div", "Where")


def _rules(facts: Facts) -> tuple[str, ...]:
    """The rules that are not switched off; over floats only those whose freedoms are granted."""
    off, granted = facts.without, facts.floats
    products = () if Policy(without=off).takes(EINSUM) else (tensor.contraction.name, tensor.sum_as_contraction.name)
    active = active_tensor_rules({*off, *products})
    return tuple(r.program for r in active if granted is None or r.floats in granted)


def _program(rules: tuple[str, ...]) -> Program:
    """Terms, their facts, and the rules."""
    constructors = " ".join(f"({op}{' i64' * (op in NUMBERED)}{' T' * arity})" for op, arity in ARITY.items())
    analysis = [
        "(function axes (T) i64 :merge (& old new))",
        "(relation finite (T))",
        "(relation shown (T T))",
        "(relation rounds (T))",
        "(ruleset facts)",
        *(
            f"(rule ((= e ({op} a b)) (= x (axes a)) (= y (axes b))) ((set (axes e) (| x y))) :ruleset facts)"
            for op in _BINARY
        ),
        *(
            f"(rule ((= e ({op} a)) (= x (axes a))) ((set (axes e) x)) :ruleset facts)"
            for op in ("Neg", "Flag", "Number")
        ),
        "(rule ((= e (Sum k a)) (= x (axes a))) ((set (axes e) (& x (^ -1 k)))) :ruleset facts)",
        "(rule ((= e (Times k a)) (= x (axes a))) ((set (axes e) x)) :ruleset facts)",
        "(rule ((= e (Ones k))) ((set (axes e) k) (finite e)) :ruleset facts)",
        f"(rule ((= e (Contract k a b)) (= x (axes a)) (= y (axes b))) ({_OPEN}) :ruleset facts)",
        "(rule ((= e (Neg a)) (finite a)) ((finite e)) :ruleset facts)",
        "(rule ((= e (Where m a)) (finite a)) ((finite e)) :ruleset facts)",
        "(rule ((= e (Flag m))) ((finite e)) :ruleset facts)",
        "(rule ((= e (Number a))) ((finite e)) :ruleset facts)",
        "(rule ((= e (Neg a)) (rounds a)) ((rounds e)) :ruleset facts)",
        "(rule ((= e (Where m a)) (rounds a)) ((rounds e)) :ruleset facts)",
        "(rule ((= e (Number a)) (rounds a)) ((rounds e)) :ruleset facts)",
    ]
    return Program.of((f"(datatype T {constructors})", *analysis), rules)


def _engine_of(rules: tuple[str, ...]) -> Engine:
    """An engine that knows these rules."""
    program = _program(rules)
    return Engine(program.texts, program.growth)


_engine = kept(_engine_of)


class Facts(Struct, frozen=True):
    """What a search must know: of each leaf its axes and whether it is a number everywhere; the number of positions on
    each axis; the freedoms granted where elements are floats, which alone have fast products of arrays, None for
    others; in which order each leaf lies along its axes; along which axes arrays lie in one piece; of each leaf the
    axes of the largest array in it; which leaves are computed, so no arrays in memory; which masked terms are numbers
    everywhere; which leaves equal other terms, and which of these would be made for this term only; which rules are
    switched off."""

    axes: tuple[int, ...]
    finite: tuple[bool, ...]
    extents: tuple[float, ...]
    floats: Floats | None
    layouts: tuple[tuple[int, ...], ...] = ()
    innermost: int = 0
    read: tuple[int, ...] = ()
    computed: frozenset[int] = frozenset()
    hidden: tuple[Term, ...] = ()
    equal: tuple[tuple[int, Term], ...] = ()
    only: frozenset[int] = frozenset()
    without: frozenset[str] = frozenset()

    @property
    def known(self) -> Iterator[Term]:
        """The terms that leaves equal."""
        return (term for _, term in self.equal)

    def size(self, bits: int) -> float:
        """How many positions there are on a set of axes."""
        return prod(n for k, n in enumerate(self.extents) if bits >> k & 1)

    def as_product(self, bits: int) -> bool:
        """Whether a product with ones may be faster than a sum over axes: over the rows or the columns of a matrix."""
        before, after = self._around(bits)
        size = prod(map(self.size, (*before, bits, *after)))
        return bits.bit_count() == 1 and size >= _WORTH_A_CONSTANT and (not before or not after)

    def summing(self, bits: int, terms: float, results: float, target: Target) -> float:
        """What a sum over axes of so many terms and results costs besides them."""
        if self.floats is None:
            return terms * target.arith
        _, after = self._around(bits)
        columns = prod(map(self.size, after))
        return operations.reduction(target, terms, results, innermost=not after, columns=columns)

    def _around(self, bits: int) -> tuple[list[int], list[int]]:
        """The axes outside and inside of those that are summed over: as they lie in an array that has all of them, or
        else as they are written."""
        every = reduce(or_, self.axes, bits)
        whole = next((n for n, axes in enumerate(self.axes) if axes == every), None)
        order = range(len(self.extents)) if whole is None else self.layouts[whole]
        dims = [1 << k for k in order if every >> k & 1]
        summed = [d for d, axis in enumerate(dims) if axis & bits]
        return dims[: summed[0]], dims[summed[-1] + 1 :]


def cheapest(term: Term, facts: Facts, target: Target) -> Term:
    """The cheapest form of a term that is found by the rules within their limits."""
    if sum(t.op == "Leaf" for whole in (term, *facts.known) for t in whole.walk()) > _LEAVES:
        return term
    search = _remembered if settled() else _searched
    return search(term, facts, target, _rules(facts))


def _searched(term: Term, facts: Facts, target: Target, rules: tuple[str, ...]) -> Term:
    with _engine(rules) as engine, engine.scratch():
        for k, (axes, finite) in enumerate(zip(facts.axes, facts.finite, strict=True)):
            engine.run(f"(set (axes (Leaf {k})) {axes})" + (f"(finite (Leaf {k}))" if finite else ""))
        engine.run(f"(let $root {_text(term)})")
        for masked in facts.hidden:
            engine.run(f"(finite {_text(masked)})")
            mask, hidden = masked.args
            for part in dict.fromkeys((hidden, *(t for t in hidden.walk() if t.op == "Leaf"))):
                engine.run(f"(shown {_text(mask)} {_text(part)})")
        for k, other in facts.equal:
            engine.run(f"(union (Leaf {k}) {_text(other)})")
        for product in dict.fromkeys(t for whole in (term, *facts.known) for t in whole.walk() if _rounds(t)):
            engine.run(f"(rounds {_text(product)})")
        rounds = Rounds(engine, tuple(ARITY), _CEILING, _CEILING)
        for _ in range(_ROUNDS):
            told, _ = engine.saturate(_FACTS)
            changed, _ = rounds.run()
            if not (told or changed or rounds.waiting) or engine.sizes(ARITY) > _NODES:
                break
        engine.saturate(_FACTS)
        extractor = _Extractor(engine.tables((*ARITY, "axes")), facts, target)
        return extractor.best(term)


# Programs that are priced as a whole differ in few statements, and layers of a network have sums of one form.
_remembered = lru_cache(maxsize=_MOST_REMEMBERED)(_searched)


def _rounds(term: Term) -> bool:
    """Whether a term of a program is rounded to what its terms are large: there is a product in it, or a quotient."""
    match term.op:
        case "Mul" | "Div" | "Contract" | "Times":
            return True
        case "Add" | "Sub" | "Neg" | "Where":
            return any(map(_rounds, term.args))
        case _:
            return False


def _text(term: Term) -> str:
    number = f" {term.number}" if term.op in NUMBERED else ""
    return f"({term.op}{number}{''.join(' ' + _text(a) for a in term.args)})"


class _Node(Struct, frozen=True):
    op: str
    number: int
    args: tuple[object, ...]


class _Extractor:
    """Cheapest forms of all classes, by rounds until no price falls."""

    def __init__(self, tables: dict[str, list[Row]], facts: Facts, target: Target) -> None:
        self.facts = facts
        self.size = facts.size
        self.target = target
        self.axes: dict[object, int] = {row.inputs[0]: int(str(row.output)) for row in tables["axes"]}
        self.classes: dict[object, list[_Node]] = {}
        self.of: dict[_Node, object] = {}
        for op in ARITY:
            for row in tables[op]:
                head, args = (int(str(row.inputs[0])), row.inputs[1:]) if op in NUMBERED else (0, row.inputs)
                node = _Node(op, head, args)
                self.classes.setdefault(row.output, []).append(node)
                self.of[node] = row.output
        self.chosen: dict[object, tuple[float, _Node]] = {}
        self.inside: dict[object, frozenset[object]] = {}
        self._settle()

    def best(self, term: Term) -> Term:
        """The cheapest form of a term."""
        return self._build(self._class(term), frozenset())

    def _class(self, term: Term) -> object:
        return self.of[_Node(term.op, term.number if term.op in NUMBERED else 0, tuple(map(self._class, term.args)))]

    def _build(self, at: object, above: frozenset[object]) -> Term:
        """A term of a class, within terms of classes `above`, of which none may occur in it again."""
        above = above | {at}
        best = self.chosen[at][1]
        prices = {best: self.chosen[at][0]}
        for node in self.classes[at]:
            if node != best and not any(a not in self.chosen or self._inside(a) & above for a in node.args):
                prices[node] = self._cost(at, node)
        node = cheapest_of("sum", prices)
        return Term(node.op, tuple(self._build(a, above) for a in node.args), node.number)

    def _inside(self, at: object) -> frozenset[object]:
        """The classes in the cheapest form of one."""
        known = self.inside.get(at)
        if known is None:
            known = frozenset({at}).union(*map(self._inside, self.chosen[at][1].args))
            self.inside[at] = known
        return known

    def _settle(self) -> None:
        changed = True
        while changed:
            changed = False
            for at, nodes in self.classes.items():
                for node in nodes:
                    cost = self._cost(at, node)
                    if cost < self.chosen.get(at, (math.inf, node))[0] - 1e-9:
                        self.chosen[at] = (cost, node)
                        changed = True

    def _cost(self, at: object, node: _Node) -> float:
        if any(a not in self.chosen for a in node.args):
            return math.inf
        t = self.target
        below = sum(self.chosen[a][0] for a in node.args)
        here = self.size(self.axes[at])
        match node.op:
            case "Leaf":
                return math.inf if node.number in self.facts.only else here * t.load
            case "Ones":
                return 0.0 if self.facts.floats is not None and self.facts.as_product(node.number) else math.inf
            case "Where":
                return below + here * t.mask
            case "Flag":
                return below + here * t.mask
            case "Number":
                return below + here * (t.mask + t.arith)
            case "Div":
                return below + here * t.division
            case "Sum":
                (a,) = node.args
                inside = self.size(self.axes[a])
                masked = self.chosen[a][1].op == "Where"
                work = self.facts.summing(node.number, inside, here, t) + here * t.store
                work += inside * masked * t.reduction_mask
                if node.number & self.facts.innermost and self._spread(a):
                    work += inside * t.reduction_spread
                if self.facts.floats is None:  # no library does it, which would repeat arrays along other axes
                    apart = t.reductions_apart and inside > operations.UNROLLED_ROW * here
                    return below + work + (self._formed(a) if apart else 0.0)
                repeated = [self.size(r) for r in self._arrays(a) if r and r != self.axes[a]]
                return below + work + t.reduction_repeated * max(repeated, default=0.0)
            case "Contract":
                formed = sum(map(self._formed, node.args))
                left, right = (self.axes[a] for a in node.args)
                work = self.size(left | right) * (t.contraction if self.facts.floats is not None else t.arith)
                batch = left & right & ~node.number
                if batch and left & ~right and right & ~left:  # of matrices, not of a matrix and a vector each
                    work += self.size(batch) * t.product_of_batch
                return below + formed + work + here * t.store + t.product
            case _:
                summed = any(self.chosen[a][1].op in ("Sum", "Contract") for a in node.args)
                return below + here * t.arith + summed * t.epilogue

    def _formed(self, at: object) -> float:
        """What an operand of a contraction costs because it must be in memory."""
        node = self.chosen[at][1]
        if node.op in ("Contract", "Ones") or (node.op == "Leaf" and node.number not in self.facts.computed):
            return 0.0
        t, size = self.target, self.size(self.axes[at])
        return size * (t.store + t.load + (t.fresh if 4 * size >= t.fresh_bytes else 0.0))

    def _spread(self, at: object) -> bool:
        """Whether a class has more elements than any array that is read for it, of which there are several."""
        if not self.target.reduction_spread:
            return False
        arrays = self._arrays(at) - {0}
        return len(arrays) > 1 and self.size(self.axes[at]) > max(map(self.size, arrays))

    def _arrays(self, at: object) -> frozenset[int]:
        """The axes of arrays in memory that the cheapest form of a class reads."""
        node = self.chosen[at][1]
        if node.op == "Leaf" and self.facts.read:
            return frozenset({self.facts.read[node.number]})
        if node.op in ("Leaf", "Sum", "Contract"):
            return frozenset({self.axes[at]})
        return frozenset[int]().union(*map(self._arrays, node.args))
