"""Extraction: the k cheapest distinct programs from the frozen rows of an e-graph, for one target.

A class of statements lists its ways (`If`, `For`, ... nodes, or nothing at all where it is a no-op). Costs are those of
a whole run and add up: work counts as often as the loops around its context run, a store has the price of a kernel
once. What is erased after the search costs nothing: assumptions, stores of undef, and what only holds such. Which
member of a class is taken never needs the context to be re-checked: each is equal under it (DESIGN: at(F, S, D)).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import cast

from egraph_rules.context import Trip
from egraph_rules.cost import Target, call_cost, operator_cost
from egraph_rules.encode import Numbering
from egraph_rules.engine import Row
from egraph_rules.functions import function_numbered
from ir.dtypes import DType
from ir.nodes import (
    COMPARE_OPS,
    LOGICAL_OPS,
    NEGATED,
    SKIP,
    Alloc,
    Binary,
    BinaryOp,
    Block,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    UnaryOp,
    Undef,
    Var,
    seq,
)
from ir.traverse import all_exprs, children, loads, map_stmt, stmt_children, substitute_expr, walk_expr

ClassId = Hashable
STATEMENTS = ("Seq", "If", "For", "Let", "Alloc", "Block", "Store", "Leaf")
EXPRESSIONS = ("Load", "Call", "Bin", "Un", "Cast", "Select")
# Tables that extraction reads.
EXTRACTED = (*STATEMENTS, *EXPRESSIONS, "At", "Ate", "Int", "Flt", "Nil", "Cons", "ival", "fval", "noop")
_NAME_COST = 0.005  # a name is preferred to its known value: `B[io, ii]` stays a view where io is known
_LITERAL_COST = 0.01


@dataclass(frozen=True, slots=True)
class Place:
    """A numbered statement in its context, as the `At` rows name it."""

    facts: int
    number: int
    permissions: int


@dataclass(frozen=True, slots=True)
class Choice:
    """How one class is realised: a node kind, its payload and the choices for its parts; `kind` "skip" is nothing."""

    kind: str
    cost: float
    accumulates: bool = False
    payload: tuple[object, ...] = ()
    parts: tuple[Choice, ...] = ()
    origin: ClassId = None
    size: int = field(init=False, compare=False)  # statements; of equally cheap ways the smallest is taken

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + sum(part.size for part in self.parts))


@dataclass(slots=True)
class Extractor:
    """Reads tables once, then answers for any root class."""

    tables: dict[str, list[Row]]
    numbering: Numbering
    target: Target
    keep: int
    trips: Callable[[int], tuple[Trip, ...]] = lambda facts: ()
    places: dict[ClassId, list[Place]] = field(default_factory=lambda: defaultdict(list))
    _nodes: dict[ClassId, list[tuple[str, Row]]] = field(default_factory=lambda: defaultdict(list))
    _noops: set[ClassId] = field(default_factory=lambda: set[ClassId]())
    _lists: dict[ClassId, tuple[ClassId, ClassId] | None] = field(
        default_factory=lambda: dict[ClassId, tuple[ClassId, ClassId] | None]()
    )
    _best: dict[ClassId, tuple[float, Expr]] = field(default_factory=lambda: dict[ClassId, tuple[float, Expr]]())
    _choices: dict[ClassId, list[Choice]] = field(default_factory=lambda: dict[ClassId, list[Choice]]())

    def __post_init__(self) -> None:
        for kind in STATEMENTS:
            for row in self.tables[kind]:
                self._nodes[row.output].append((kind, row))
        for row in self.tables["At"]:
            f, s, d = cast("tuple[int, int, int]", row.inputs)
            self.places[row.output].append(Place(f, s, d))
        self._noops = {row.inputs[0] for row in self.tables["noop"]}
        for row in self.tables["Nil"]:
            self._lists[row.output] = None
        for row in self.tables["Cons"]:
            self._lists[row.output] = (row.inputs[0], row.inputs[1])
        self._expressions()

    # Expressions: shortest paths over classes ------------------------------------------------------------------------

    def _expressions(self) -> None:
        """Best expression of each class, by rounds until no cost falls."""
        self._leaves()
        pending = [(kind, row) for kind in EXPRESSIONS for row in self.tables[kind]]
        changed = True
        while changed:
            changed = False
            for kind, row in pending:
                built = self._candidate(kind, row.inputs)
                if built is not None and self._improves(row.output, *built):
                    changed = True

    def _improves(self, at: ClassId, cost: float, expr: Expr) -> bool:
        known = self._best.get(at)
        if known is not None and known[0] <= cost:
            return False
        self._best[at] = (cost, expr)
        return True

    def _leaves(self) -> None:
        dtypes: dict[ClassId, DType] = {}
        for row in self.tables["Ate"]:
            expr = self.numbering.exprs[cast(int, row.inputs[1])]
            dtypes[row.output] = expr.dtype
            self._improves(row.output, self.expr_cost(expr), expr)
        for kind in ("Int", "Flt"):
            for row in self.tables[kind]:
                dtypes[row.output] = DType(row.inputs[0])
        for row in self.tables["Bin"]:
            op, operand = cast("tuple[str, str]", row.inputs[:2])
            boolean = op in COMPARE_OPS or op in LOGICAL_OPS
            dtypes.setdefault(row.output, DType.BOOL if boolean else DType(operand))
        for row in self.tables["Call"]:
            dtypes.setdefault(row.output, function_numbered(cast(int, row.inputs[0])).dtype)
        for kind, column in (("Un", 1), ("Cast", 0), ("Select", 0)):
            for row in self.tables[kind]:
                dtypes.setdefault(row.output, DType(row.inputs[column]))
        for table in ("ival", "fval"):
            for row in self.tables[table]:
                dtype = dtypes.get(row.inputs[0])
                if dtype is not None:
                    value = cast("int | float", row.output)
                    literal = Const(bool(value) if dtype is DType.BOOL else value, dtype)
                    self._improves(row.inputs[0], _LITERAL_COST, literal)

    def _candidate(self, kind: str, inputs: tuple[object, ...]) -> tuple[float, Expr] | None:
        if kind == "Load":
            indices = self._indices(inputs[2])
            if indices is None:
                return None
            cost = self.target.load + self.target.index * sum(c for c, _ in indices)
            return cost, Load(self.numbering.buffers[cast(int, inputs[1])], tuple(e for _, e in indices))
        if kind == "Call":
            args = self._indices(inputs[1])
            if args is None:
                return None
            call = Call(function_numbered(cast(int, inputs[0])), tuple(e for _, e in args))
            return sum(c for c, _ in args) + self._operator(call), call
        start = {"Bin": 2, "Un": 2, "Cast": 1, "Select": 1}[kind]
        parts = [self._best.get(c) for c in inputs[start:]]
        if any(p is None for p in parts):
            return None
        costs, exprs = zip(*cast("list[tuple[float, Expr]]", parts), strict=True)
        match kind:
            case "Bin":
                expr: Expr = Binary(cast(BinaryOp, inputs[0]), *exprs)
            case "Un":
                expr = Unary(cast(UnaryOp, inputs[0]), *exprs)
            case "Cast":
                expr = Cast(DType(inputs[0]), *exprs)
            case _:
                expr = Select(*exprs)
        return sum(costs) + self._operator(expr), expr

    def _operator(self, expr: Expr) -> float:
        match expr:
            case Binary(op=op) | Unary(op=op):
                return operator_cost(self.target, op)
            case Call(function=function):
                return call_cost(self.target, function)
            case Select():
                return self.target.mask
            case _:
                return self.target.arith

    def expression(self, facts: int, number: int) -> Expr:
        """The best form of a numbered expression under facts."""
        at = next(row.output for row in self.tables["Ate"] if row.inputs == (facts, number))
        return self._best[at][1]

    def expr_cost(self, expr: Expr) -> float:
        """Cost of an expression as it stands."""
        match expr:
            case Const():
                return _LITERAL_COST
            case Load(indices=indices):
                return self.target.load + self.target.index * sum(map(self.expr_cost, indices))
            case _ if not children(expr):
                return _NAME_COST
            case _:
                return sum(map(self.expr_cost, children(expr))) + self._operator(expr)

    def _indices(self, at: ClassId) -> list[tuple[float, Expr]] | None:
        out: list[tuple[float, Expr]] = []
        cell = self._lists.get(at)
        while cell is not None:
            best = self._best.get(cell[0])
            if best is None:
                return None
            out.append(best)
            cell = self._lists.get(cell[1])
        return out

    def stmt_cost(self, stmt: Stmt) -> float:
        """Cost of a program as it stands, by the measure of `choices`."""
        return self._plain(stmt, ())[0]

    def _plain(self, stmt: Stmt, trips: tuple[Trip, ...]) -> tuple[float, bool]:
        """Cost of a statement inside of loops, and whether it accumulates."""
        t = self.target
        match stmt:
            case Store(indices=indices, value=value):
                places = sum(map(self.expr_cost, indices))
                return self._store_cost(trips, stmt, places, self.expr_cost(value)), accumulates(stmt)
            case If(cond=cond, then=yes, other=no):
                (a, x), (b, y) = self._plain(yes, trips), self._plain(no, trips)
                return self._branch_cost(self._weight(trips), self.expr_cost(cond), a + b, masked=x or y), x or y
            case For(body=body) as loop:
                cost, masked = self._plain(body, (*trips, Trip.of(loop)))
                return (t.loop + cost if cost else 0.0), masked
            case Let(value=value, body=body):
                cost, masked = self._plain(body, trips)
                return (self._weight(trips) * self.expr_cost(value) + cost if cost else 0.0), masked
            case Alloc(body=body):
                cost, masked = self._plain(body, trips)
                return t.kernel + cost, masked
            case _:
                parts = [self._plain(s, trips) for s in stmt_children(stmt)]
                return sum(c for c, _ in parts), any(m for _, m in parts)

    def _store_cost(self, trips: tuple[Trip, ...], store: Store, places: float, value: float) -> float:
        if isinstance(store.value, Undef):
            return 0.0
        t = self.target
        part = t.reduction_slice if accumulates(store) and _reads_part(store, trips) else 0.0
        return t.kernel + self._weight(trips) * (t.store + t.index * places + value + part)

    def _branch_cost(self, weight: float, cond: float, arms: float, *, masked: bool) -> float:
        """Vector code evaluates both branches and masks; a masked accumulation is worse than a masked store."""
        t = self.target
        mask = t.reduction_mask if masked else t.mask
        return weight * (cond + mask) + t.guarded * arms if arms else 0.0

    def _weight(self, trips: tuple[Trip, ...]) -> float:
        """How often a place inside of loops runs."""
        extents = (self.target.default_extent if t.extent is None else max(t.extent, 0) for t in trips)
        return float(prod(extents))

    # Statements -----------------------------------------------------------------------------------------------------

    def choices(self, at: ClassId) -> list[Choice]:
        """The cheapest ways to realise a class of statements, best first."""
        if at not in self._choices:
            self._choices[at] = []  # a class cannot be its own part
            found = [Choice("skip", 0.0, origin=at)] if at in self._noops else []
            for kind, row in self._nodes[at]:
                found += self._realise(at, kind, row)
            found.sort(key=lambda c: (round(c.cost, 6), c.size))
            self._choices[at] = found[: self.keep]
        return self._choices[at]

    def _realise(self, at: ClassId, kind: str, row: Row) -> list[Choice]:
        f = cast(int, row.inputs[0])
        rest = row.inputs[2:]
        t = self.target
        match kind:
            case "Leaf":
                return [Choice("leaf", 0.0, payload=(rest[0],), origin=at)]
            case "Store":
                return self._store(at, f, rest)
            case "Seq":
                return [
                    Choice("seq", a.cost + b.cost, a.accumulates or b.accumulates, (), (a, b), at)
                    for a, b in product(self.choices(rest[0]), self.choices(rest[1]))
                ]
            case "If":
                cond_cost, cond = self._best[rest[0]]
                return [
                    self._branch(at, f, cond_cost, cond, a, b)
                    for a, b in product(self.choices(rest[1]), self.choices(rest[2]))
                ]
            case "For":
                (_, start), (_, extent) = self._best[rest[1]], self._best[rest[2]]
                payload = (f, rest[0], start, extent)
                return [
                    Choice("for", t.loop + b.cost if b.cost else 0.0, b.accumulates, payload, (b,), at)
                    for b in self.choices(rest[3])
                ]
            case "Let":
                cost, value = self._best[rest[1]]
                cost *= self._weight(self.trips(f))
                return [
                    Choice("let", cost + b.cost if b.cost else 0.0, b.accumulates, (f, rest[0], value), (b,), at)
                    for b in self.choices(rest[2])
                ]
            case "Block":
                return [Choice("block", b.cost, b.accumulates, (rest[0],), (b,), at) for b in self.choices(rest[1])]
            case _:
                return [
                    Choice("alloc", t.kernel + b.cost, b.accumulates, (rest[0],), (b,), at)
                    for b in self.choices(rest[1])
                ]

    def _branch(self, at: ClassId, facts: int, cost: float, cond: Expr, yes: Choice, no: Choice) -> Choice:
        masked = yes.accumulates or no.accumulates
        total = self._branch_cost(self._weight(self.trips(facts)), cost, yes.cost + no.cost, masked=masked)
        return Choice("if", total, masked, (cond,), (yes, no), at)

    def _store(self, at: ClassId, facts: int, rest: tuple[object, ...]) -> list[Choice]:
        indices = self._indices(rest[1])
        if indices is None:
            return []
        buffer = self.numbering.buffers[cast(int, rest[0])]
        cost, value = self._best[rest[2]]
        places = tuple(e for _, e in indices)
        store = Store(buffer, places, value)
        cost = self._store_cost(self.trips(facts), store, sum(c for c, _ in indices), cost)
        return [Choice("store", cost, accumulates(store), (buffer, places, value), (), at)]


def accumulates(store: Store) -> bool:
    """Whether a store updates an element from its old value."""
    return any(load.buffer == store.buffer and load.indices == store.indices for load in loads(store.value))


def _reads_part(store: Store, trips: tuple[Trip, ...]) -> bool:
    """Whether a sum is over a part of an axis or another order of elements, so that its operand is no whole array."""
    loops = {t.var: t for t in trips}
    accesses = [(store.indices, store.buffer), *((e.indices, e.buffer) for e in loads(store.value))]
    for index, extent in (pair for i, b in accesses for pair in zip(i, b.shape, strict=True)):
        if any(isinstance(e, Binary) and e.op in ("floordiv", "floormod") for e in walk_expr(index)):
            return True
        trip = loops.get(index.name) if isinstance(index, Var) else None
        if trip is not None and isinstance(extent, Const) and (trip.start, trip.extent) != (0, extent.value):
            return True
    return False


@dataclass(slots=True)
class Rebuilder:
    """Turns choices into statements with the author's names."""

    numbering: Numbering
    names: dict[tuple[int, int], str]
    reserved: frozenset[str]

    def build(self, choice: Choice, env: dict[Var, Expr] | None = None) -> Stmt:
        """The statement of a choice; `env` maps depth-named variables to printed ones."""
        scope: dict[Var, Expr] = {} if env is None else env
        match choice.kind:
            case "skip":
                return SKIP
            case "seq":
                return seq(*(self.build(p, scope) for p in choice.parts))
            case "if":
                cond = substitute_expr(cast(Expr, choice.payload[0]), scope)
                return branch(cond, *(self.build(p, scope) for p in choice.parts))
            case "for":
                return self._loop(choice, scope)
            case "let":
                facts, number, value = cast("tuple[int, int, Expr]", choice.payload)
                var, inner = self._bind(facts, number, cast(Let, self.numbering.stmts[number]).var, scope)
                body = self.build(choice.parts[0], inner)
                used = any(var.same(e) for e in all_exprs(body))
                return Let(var, substitute_expr(value, scope), body) if used else body
            case "alloc":
                alloc = cast(Alloc, self.numbering.stmts[cast(int, choice.payload[0])])
                return Alloc(alloc.buffer, self.build(choice.parts[0], scope), alloc.span)
            case "block":
                block = cast(Block, self.numbering.stmts[cast(int, choice.payload[0])])
                return replace(block, body=self.build(choice.parts[0], scope))
            case "store":
                buffer, places, value = cast("tuple[Buffer, tuple[Expr, ...], Expr]", choice.payload)
                indices = tuple(substitute_expr(i, scope) for i in places)
                return Store(buffer, indices, substitute_expr(value, scope))
            case _:
                leaf = self.numbering.stmts[cast(int, choice.payload[0])]
                return map_stmt(leaf, lambda e: substitute_expr(e, scope))

    def scope_of(self, choice: Choice, scope: dict[Var, Expr]) -> dict[Var, Expr]:
        """The names inside a loop or binding."""
        facts, number = cast("tuple[int, int]", choice.payload[:2])
        return self._bind(facts, number, cast("For | Let", self.numbering.stmts[number]).var, scope)[1]

    def _loop(self, choice: Choice, scope: dict[Var, Expr]) -> Stmt:
        facts, number, start, extent = cast("tuple[int, int, Expr, Expr]", choice.payload)
        loop = cast(For, self.numbering.stmts[number])
        var, inner = self._bind(facts, number, loop.var, scope)
        body = self.build(choice.parts[0], inner)
        bounds = substitute_expr(start, scope), substitute_expr(extent, scope)
        return SKIP if body == SKIP else For(var, *bounds, body, loop.kind, loop.annotations, loop.span)

    def _bind(self, facts: int, number: int, level: Var, scope: dict[Var, Expr]) -> tuple[Var, dict[Var, Expr]]:
        wanted = self.names.get((facts, number), "v")
        taken = self.reserved | {v.name for v in scope.values() if isinstance(v, Var)}
        name, count = wanted, 0
        while name in taken:
            count += 1
            name = f"{wanted}_{count}"
        var = Var(name, level.dtype)
        return var, {**scope, level: var}


def branch(cond: Expr, yes: Stmt, no: Stmt) -> Stmt:
    """`if cond: yes else: no`, without empty arms."""
    if yes == SKIP and no == SKIP:
        return SKIP
    if yes == SKIP:
        return If(negate(cond), no, SKIP)
    return If(cond, yes, no)


def negate(cond: Expr) -> Expr:
    """The negation, pushed into comparisons of integers."""
    match cond:
        case Unary(op="not", operand=a):
            return a
        case Binary(op=op, lhs=a, rhs=b) if op in NEGATED and a.dtype.is_integer:
            return Binary(NEGATED[op], a, b)
        case _:
            return Unary("not", cond)
