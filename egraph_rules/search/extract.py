"""Extraction: the k cheapest distinct programs from the frozen rows of an e-graph, for one target.

A class of statements lists its ways (`If`, `For`, ... nodes, or nothing at all where it is a no-op). Costs are those of
a whole run and add up: work counts as often as the loops around its context run, a store has the price of a kernel
once. What is erased after the search costs nothing: assumptions, stores of undef, and what only holds such. Which
member of a class is taken never needs the context to be re-checked: each is equal under it (DESIGN: at(F, S, D)).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import copy
from itertools import product
from typing import cast

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from egraph_rules.contexts.facts import Trip
from egraph_rules.contexts.repeated import Twin
from egraph_rules.cost.prices import LITERAL_COST, Prices, accumulates
from egraph_rules.cost.target import Target
from egraph_rules.engine.engine import Row
from egraph_rules.engine.functions import function_numbered
from egraph_rules.search.numbering import Numbering, Part
from ir.analysis.conditions import negate
from ir.dtypes import DType
from ir.fold import with_positive_number
from ir.instructions import instance_sizes, instruction_of
from ir.naming import fresh, unused
from ir.nodes import (
    COMPARE_OPS,
    LOGICAL_OPS,
    SKIP,
    Alloc,
    AnyStmt,
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
    Var,
    seq,
)
from ir.program.calls import Copy
from ir.program.edit import replace_buffer
from ir.program.forms import with_buffers
from ir.traverse import all_exprs, free_vars, map_stmt, substitute_expr, walk

ClassId = Hashable
STATEMENTS = ("Seq", "If", "For", "Let", "Alloc", "Block", "Store", "Leaf", "Twin")
EXPRESSIONS = ("Load", "Call", "Bin", "Un", "Cast", "Select")
_OPERANDS = {"Load": 2, "Call": 1, "Bin": 2, "Un": 2, "Cast": 1, "Select": 1}  # the column where they begin
_LISTED = ("Load", "Call")  # whose operands are a list
# Tables that extraction reads.
EXTRACTED = (*STATEMENTS, *EXPRESSIONS, "At", "Ate", "Int", "Flt", "Nil", "Cons", "ival", "fval", "noop")


class Place(Struct, frozen=True):
    """A numbered statement in its context, as the `At` rows name it."""

    facts: int
    number: int
    permissions: int


class _Sized:
    """What is worked out once of each choice."""

    __slots__ = ("shape", "size")
    size: int  # statements; of equally cheap ways the smallest is taken
    shape: tuple[int, ...]  # equal for ways that come to one program


class Choice(_Sized, Struct, frozen=True):
    """How one class is realised: a node kind, its payload and the choices for its parts; `kind` "skip" is nothing."""

    kind: str
    cost: float
    accumulates: bool = False
    payload: tuple[object, ...] = ()
    parts: tuple[Choice, ...] = ()
    origin: ClassId = None

    def __post_init__(self) -> None:
        force_setattr(self, "size", (self.kind != "twin") + sum(part.size for part in self.parts))
        force_setattr(self, "shape", self._shape())

    def _shape(self) -> tuple[int, ...]:
        """A hash of each statement in sequence; nothing for what comes to nothing once assumptions are erased."""
        inner = tuple(part.shape for part in self.parts)
        match self.kind:
            case "skip":
                return ()
            case "seq":
                return (*inner[0], *inner[1])
            case "leaf" | "store" | "instance":
                return (hash((self.kind, *self.payload)),)
            case "for" | "let":  # without the place
                return (hash((self.kind, *self.payload[2:], inner)),) if any(inner) else ()
            case _:
                return (hash((self.kind, *self.payload, inner)),) if any(inner) else ()


class Extractor(Struct, dict=True):
    """Reads tables once, then answers for any root class."""

    tables: dict[str, list[Row]]
    numbering: Numbering
    target: Target
    keep: int
    trips: Callable[[int], tuple[Trip, ...]] = lambda facts: ()
    traced: frozenset[Var] = frozenset()  # no bounds of loops: each of their values would be compiled anew
    places: dict[ClassId, list[Place]] = field(default_factory=lambda: defaultdict(list))
    _nodes: dict[ClassId, list[tuple[str, Row]]] = field(default_factory=lambda: defaultdict(list))
    _noops: set[ClassId] = field(default_factory=lambda: set[ClassId]())
    _lists: dict[ClassId, tuple[ClassId, ClassId] | None] = field(
        default_factory=lambda: dict[ClassId, tuple[ClassId, ClassId] | None]()
    )
    _best: dict[ClassId, tuple[float, Expr]] = field(default_factory=lambda: dict[ClassId, tuple[float, Expr]]())
    _inside: dict[ClassId, frozenset[ClassId]] = field(default_factory=lambda: dict[ClassId, frozenset[ClassId]]())
    _choices: dict[ClassId, list[Choice]] = field(default_factory=lambda: dict[ClassId, list[Choice]]())

    def __post_init__(self) -> None:
        self.prices: Prices = Prices(self.target)
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

    def priced(self, prices: Prices) -> Extractor:
        """An extractor of single programs from the same rows; prices of statements may differ, not of expressions."""
        other = copy(self)
        other.target, other.prices, other.keep, other._choices = prices.target, prices, 1, {}
        return other

    # Expressions: shortest paths over classes ------------------------------------------------------------------------

    def _expressions(self) -> None:
        """Best expression of each class, by rounds until no cost falls; a row is looked at again where one of its parts
        became cheaper.

        An index may cost more by itself than a load at it, so that where P[3] is 3, P[P[3]] would be cheaper still: no
        expression has one of its own class within. There are finitely many such, so the rounds end.
        """
        self._leaves()
        rows = [(kind, row, (*self._parts(kind, row.inputs),)) for kind in EXPRESSIONS for row in self.tables[kind]]
        users: dict[ClassId, list[int]] = defaultdict(list)
        for k, (_, _, parts) in enumerate(rows):
            for part in parts:
                users[part].append(k)
        again = bytearray(b"\1" * len(rows))
        while 1 in again:
            for k, (kind, row, parts) in enumerate(rows):
                if not again[k]:
                    continue
                again[k] = 0
                built = self._candidate(kind, row.inputs)
                if built is not None and self._improves(row.output, *built, parts):
                    for user in users[row.output]:
                        again[user] = 1

    def _improves(self, at: ClassId, cost: float, expr: Expr, parts: Iterable[ClassId] = ()) -> bool:
        """Take an expression if it is cheaper than what is known, and has none of its class within its `parts`."""
        known = self._best.get(at)
        if known is not None and known[0] <= cost:
            return False
        inside = frozenset[ClassId]().union(*(self._inside[part] for part in parts))
        if at in inside:
            return False
        self._best[at], self._inside[at] = (cost, expr), inside | {at}
        return True

    def _parts(self, kind: str, inputs: tuple[object, ...]) -> Iterator[ClassId]:
        """The classes of the operands of a row, or of the elements of its list."""
        if kind not in _LISTED:
            yield from inputs[_OPERANDS[kind] :]
            return
        cell = self._lists.get(inputs[_OPERANDS[kind]])
        while cell is not None:
            yield cell[0]
            cell = self._lists.get(cell[1])

    def _leaves(self) -> None:
        dtypes: dict[ClassId, DType] = {}
        costs: dict[int, float] = {}  # by identity of expressions, which the numbering keeps
        literals = {row.output for kind in ("Int", "Flt") for row in self.tables[kind]}
        for row in self.tables["Ate"]:
            expr = self.numbering.exprs[cast(int, row.inputs[1])]
            dtypes[row.output] = expr.dtype
            if row.output not in literals:  # a variable of another place may have that value there
                self._improves(row.output, self.prices.expr(expr, costs), expr)
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
                    self._improves(row.inputs[0], LITERAL_COST, literal)

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
            return sum(c for c, _ in args) + self.prices.operator(call), call
        parts = [self._best.get(c) for c in self._parts(kind, inputs)]
        if any(p is None for p in parts):
            return None
        costs, exprs = zip(*cast("list[tuple[float, Expr]]", parts), strict=True)
        match kind:
            case "Bin":
                expr: Expr = with_positive_number(Binary(cast(BinaryOp, inputs[0]), *exprs))
            case "Un":
                expr = Unary(cast(UnaryOp, inputs[0]), *exprs)
            case "Cast":
                expr = Cast(DType(inputs[0]), *exprs)
            case _:
                expr = Select(*exprs)
        return sum(costs) + self.prices.operator(expr), expr

    def expression(self, facts: int, number: int) -> Expr:
        """The best form of a numbered expression under facts."""
        at = next(row.output for row in self.tables["Ate"] if row.inputs == (facts, number))
        return self._best[at][1]

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

    # Statements -----------------------------------------------------------------------------------------------------

    def choices(self, at: ClassId) -> list[Choice]:
        """The cheapest ways to realise a class of statements, best first."""
        if at not in self._choices:
            self._choices[at] = self._ranked(at)[: self.keep]
        return self._choices[at]

    def _ranked(self, at: ClassId) -> list[Choice]:
        """All ways to realise a class of statements that its parts' choices leave, best first.

        What equals nothing is nothing: a statement that may fault equals it only where the program runs it, and other
        places with the same facts are in its class.
        """
        if at in self._noops:
            return [Choice("skip", 0.0, origin=at)]
        self._choices[at] = []  # a class cannot be its own part
        found: list[Choice] = []
        for kind, row in self._nodes[at]:
            found += self._realise(at, kind, row)
        distinct: dict[tuple[int, ...], Choice] = {}
        for choice in sorted(found, key=lambda c: (round(c.cost, 6), c.size)):
            distinct.setdefault(choice.shape, choice)
        return list(distinct.values())

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
                if self.traced and self.traced & free_vars(start, extent):
                    return []
                payload = (f, rest[0], start, extent)
                loop = cast(For, self.numbering.stmts[cast(int, rest[0])])
                return [
                    Choice("for", self.prices.loop(loop.kind, b.cost), b.accumulates, payload, (b,), at)
                    for b in self.choices(rest[3])
                ]
            case "Let":
                cost, value = self._best[rest[1]]
                cost = self.prices.binding(self.trips(f), cost)
                return [
                    Choice("let", cost + b.cost if b.cost else 0.0, b.accumulates, (f, rest[0], value), (b,), at)
                    for b in self.choices(rest[2])
                ]
            case "Twin":
                return [
                    Choice("twin", b.cost, b.accumulates, (rest[0],), (b,), at) if b.kind != "skip" else b
                    for b in self.choices(rest[1])
                ]
            case "Block" if (
                instruction := instruction_of(block := self.numbering.stmts[cast(int, rest[0])])
            ) is not None:
                cost = self.prices.instance(self.trips(f), instruction, instance_sizes(block))
                return [Choice("instance", cost, payload=(rest[0],), origin=at)]
            case "Block":
                return [Choice("block", b.cost, b.accumulates, (rest[0],), (b,), at) for b in self.choices(rest[1])]
            case _:
                return [
                    Choice("alloc", t.kernel + b.cost, b.accumulates, (rest[0],), (b,), at)
                    for b in self.choices(rest[1])
                ]

    def _branch(self, at: ClassId, facts: int, cost: float, cond: Expr, yes: Choice, no: Choice) -> Choice:
        masked = yes.accumulates or no.accumulates
        total = self.prices.branch(self.trips(facts), cost, yes.cost + no.cost, masked=masked)
        return Choice("if", total, masked, (cond,), (yes, no), at)

    def _store(self, at: ClassId, facts: int, rest: tuple[object, ...]) -> list[Choice]:
        indices = self._indices(rest[1])
        if indices is None:
            return []
        buffer = self.numbering.buffers[cast(int, rest[0])]
        cost, value = self._best[rest[2]]
        places = tuple(e for _, e in indices)
        store = Store(buffer, places, value)
        cost = self.prices.store(self.trips(facts), store, sum(c for c, _ in indices), cost)
        return [Choice("store", cost, accumulates(store), (buffer, places, value), (), at)]


class Rebuilder(Struct):
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
                return self._named(Alloc(alloc.buffer, self.build(choice.parts[0], scope), alloc.span))
            case "block":
                block = cast(Block, self.numbering.stmts[cast(int, choice.payload[0])])
                return replace(block, body=self.build(choice.parts[0], scope))
            case "instance":  # as it was matched: what else its body equals is no instance
                block = cast(Block, self.numbering.stmts[cast(int, choice.payload[0])])
                taken = set(self.reserved) | {v.name for v in scope.values() if isinstance(v, Var)}
                copy = Copy(lambda name: fresh(name.replace("%", "v"), taken), {**scope}, {})
                return replace(block, body=copy.stmt(block.body))
            case "twin":
                return self.as_twin(self.build(choice.parts[0], scope), self.twin_of(choice))
            case "store":
                buffer, places, value = cast("tuple[Buffer, tuple[Expr, ...], Expr]", choice.payload)
                indices = tuple(substitute_expr(i, scope) for i in places)
                return Store(buffer, indices, substitute_expr(value, scope))
            case _:
                leaf = self.numbering.stmts[cast(int, choice.payload[0])]
                return map_stmt(leaf, lambda e: substitute_expr(e, scope))

    def twin_of(self, choice: Choice) -> Twin[Part]:
        """What a choice for a nest that repeats another one says of both."""
        return self.numbering.twins[cast(int, choice.payload[0])]

    def as_twin(self, built: Stmt, twin: Twin[Part]) -> Stmt:
        """What the first nest has become, with the buffers of one that repeats it; locals are called after theirs."""
        buffers = dict(twin.buffers)
        taken = self.reserved | {b.name for b in self.numbering.buffers}
        for local in (s.buffer for s in walk(built) if isinstance(s, Alloc)):
            base = next((b for b in twin.buffers if local.name.startswith(f"{b.name}_")), None)
            if base is not None and local not in buffers:
                name = unused(twin.buffers[base].name + local.name.removeprefix(base.name), taken)
                buffers[local] = replace(local, name=name)
        return map_stmt(with_buffers(built, buffers), on_stmt=_nowhere)  # nor where the first one stands

    def scope_of(self, choice: Choice, scope: dict[Var, Expr]) -> dict[Var, Expr]:
        """The names inside a loop or binding."""
        facts, number = cast("tuple[int, int]", choice.payload[:2])
        return self._bind(facts, number, cast("For | Let", self.numbering.stmts[number]).var, scope)[1]

    def _named(self, alloc: Alloc) -> Alloc:
        """A local that a rule made: what it made of `A` it calls `A.tiles.7`, and people read `A_tiles`."""
        words = alloc.buffer.name.split(".")
        if len(words) == 1:
            return alloc
        inside = {s.buffer.name for s in walk(alloc) if isinstance(s, Alloc)}
        taken = self.reserved | inside | {b.name for b in self.numbering.buffers}
        buffer = replace(alloc.buffer, name=unused("_".join(words[:2]), taken))
        return Alloc(buffer, replace_buffer(alloc.body, alloc.buffer, buffer, lambda indices: indices), alloc.span)

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
        var = Var(unused(wanted, taken), level.dtype)
        return var, {**scope, level: var}


def _nowhere(stmt: Stmt) -> Stmt:
    """A statement without the place in the source that it came from."""
    return replace(cast(AnyStmt, stmt), span=None)


def branch(cond: Expr, yes: Stmt, no: Stmt) -> Stmt:
    """`if cond: yes else: no`, without empty arms."""
    if yes == SKIP and no == SKIP:
        return SKIP
    if yes == SKIP:
        return If(negate(cond), no, SKIP)
    return If(cond, yes, no)
