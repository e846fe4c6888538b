"""What a plan consists of: array statements and loops that stay loops, with bounds of all loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count

from msgspec import Struct, field
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, UpdateOp, may_meet
from ir.nodes import Binary, Buffer, Expr, Load, Store, Var
from ir.traverse import buffers_read, free_vars, is_const
from lower.analysis.linear_forms import Linear, Ranges, atom, interval, linear, number, to_expr
from lower.nest.normalize import Place, relocated, relocated_expr


class Box(Struct, frozen=True):
    """Static bounds of a loop variable: `low <= var < low + extent`; `exact` when they are the loop's own.

    Those of a loop that has none are of its `effects`: it may run beyond them, where it does nothing that is defined.
    """

    low: Linear
    extent: Linear
    exact: bool
    effects: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether the bounds are numbers."""
        return self.low.is_const and self.extent.is_const

    @property
    def is_known(self) -> bool:
        """Whether the loop's own bounds are numbers."""
        return self.exact and self.is_fixed


def extreme(
    form: Linear, around: Mapping[Var, Box], static: frozenset[Var], ranges: Ranges, upper: bool
) -> Linear | None:
    """The smallest or largest static value of a form while the variables around it run through their boxes."""
    total = Linear({}, form.const)
    for term, c in form.terms.items():
        names = free_vars(term)
        rising = (c > 0) == upper
        if names <= static and not Linear({term: 1}).has_loads():
            total = total + Linear({term: c})
        elif isinstance(term, Var) and term in around:
            box = around[term]
            total = total + (box.low + box.extent - 1 if rising else box.low) * c
        else:
            low, high = interval(Linear({term: 1}), ranges)
            bound = high if rising else low
            if bound is None:
                return None
            total = total + bound * c
    return total


class Fresh(Struct, frozen=True):
    """Where names and positions of statements come from that nothing has yet."""

    name: Callable[[str], str]
    position: Callable[[], int]


class AtOnce(Struct, frozen=True):
    """Statements in place of a loop, without its order, and the arrays that they need."""

    statements: list[Statement]
    arrays: list[Buffer]


def fresh_behind(statements: Iterable[Statement], name: Callable[[str], str]) -> Fresh:
    """New names, and positions behind those of statements."""
    return Fresh(name, count(max((s.position for s in statements), default=0) + 1).__next__)


def loop_over(var: Var, box: Box, boxes: dict[Loop, Box]) -> Loop:
    """A loop of its own through all of a box, which `boxes` then has."""
    loop = Loop(var, to_expr(box.low, var), to_expr(box.extent, var))
    boxes[loop] = replace(box, exact=True)
    return loop


def loops_over(
    buffer: Buffer, boxes: dict[Loop, Box], name: Callable[[str], str], ranges: Sequence[Box] | None = None
) -> tuple[Loop, ...]:
    """A loop of its own through each dimension of a buffer, or through those positions of it that `ranges` has."""
    if ranges is None:
        ranges = [Box(number(0), linear(size), exact=True) for size in buffer.shape]
    return tuple(
        loop_over(Var(name(f"{buffer.name}_{d}"), size.dtype), box, boxes)
        for d, (size, box) in enumerate(zip(buffer.shape, ranges, strict=True))
    )


def array_statement(store: Store, around: tuple[Loop, ...], axes: tuple[Loop, ...], new: Fresh) -> ArrayStatement:
    """A store over axes within loops."""
    return ArrayStatement(Statement(new.position(), (*around, *axes), (), store), axes)


def array_over(loops: Sequence[Loop], boxes: Sequence[Box]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The shape of an array with an element for each iteration of loops, and the place of the present one."""
    pairs = list(zip(loops, boxes, strict=True))
    shape = tuple(to_expr(box.extent, loop.var) for loop, box in pairs)
    return shape, tuple(to_expr(atom(loop.var) - box.low, loop.var) for loop, box in pairs)


def own_bounds(loop: Loop) -> tuple[Expr, Expr]:
    """A loop's own bounds as conditions."""
    stop = to_expr(linear(Binary("add", loop.start, loop.extent)), loop.var)
    return Binary("ge", loop.var, loop.start), Binary("lt", loop.var, stop)


EXTREMES = ("min", "max")


class Recurrence(Struct, frozen=True):
    """`X[i] = X[i-1] op term`, or `factor * X[i-1] + term`, along a loop; `previous` is the load of `X[i-1]`.

    With a factor an extreme is `max(X[i-1] + factor, term)`, the same in the semiring of maxima and sums.
    Where the condition of a `restart` holds, `X[i]` is its value, whatever was before. Products of a factor that is not
    `tame` may leave the numbers where no `X[i]` does: it must go in turn.
    """

    loop: Loop
    op: UpdateOp
    term: Expr
    factor: Expr | None
    previous: Load
    restart: tuple[Expr, Expr] | None = None
    tame: bool = True

    @property
    def value(self) -> Expr:
        """What it stores where it does not begin anew, in terms of its parts."""
        if self.factor is None:
            return Binary(self.op, self.previous, self.term)
        if self.op in EXTREMES:
            return Binary(self.op, Binary("add", self.previous, self.factor), self.term)
        return _sum((self.factor,), (self.previous,), self.term)

    @property
    def earlier(self) -> tuple[Load, ...]:
        """Elements that it stored before."""
        return (self.previous,)


class Filter(Struct, frozen=True):
    """`X[i] = factors[0] * X[i-1] + factors[1] * X[i-2] + ... + term` along a loop, by factors that are the same for
    all axes; `previous` are the loads of `X[i-1]`, `X[i-2]`, ..."""

    loop: Loop
    factors: tuple[Expr, ...]
    term: Expr
    previous: tuple[Load, ...]

    @property
    def value(self) -> Expr:
        """What it stores, in terms of its parts."""
        return _sum(self.factors, self.previous, self.term)

    @property
    def earlier(self) -> tuple[Load, ...]:
        """Elements that it stored before."""
        return self.previous


def _sum(factors: Sequence[Expr], terms: Sequence[Expr], rest: Expr) -> Expr:
    """A sum of multiples, but for those that are zero, and a rest."""
    for factor, term in zip(factors, terms, strict=True):
        if not is_const(factor, 0):
            product = Binary("mul", factor, term)
            rest = product if is_const(rest, 0) else Binary("add", product, rest)
    return rest


class Pick(Struct, frozen=True):
    """The iteration of nested loops, counted from 0, at which a value is largest or smallest among those for which
    conditions hold: the first such, or the `last`.

    With a loop of `rank`, that for each of its iterations: the best, the one that follows, and so on; those for which
    conditions do not hold come behind all others.
    """

    loops: tuple[Loop, ...]
    op: UpdateOp
    last: bool
    value: Expr
    conditions: tuple[Expr, ...] = ()
    rank: Loop | None = None


class Span(Struct, frozen=True):
    """Ranges `start <= var < stop` of a loop, for each iteration of the loops of `deciding` variables: an update
    combines `term` over them, times what `factors` are there. `by_row`: terms depend on those variables too."""

    loop: Loop
    start: Expr
    stop: Expr
    term: Expr
    factors: tuple[Expr, ...]
    deciding: frozenset[Var]
    by_row: bool = False


class Solve(Struct, frozen=True):
    """A triangular system: row `loop.var` of `matrix` and column `column`, both counted by steps.

    `backward` where later steps store to earlier places. A `unit` matrix has ones on its diagonal, whatever is stored.
    """

    loop: Loop
    matrix: Load
    column: Var
    backward: bool
    unit: bool


class Factor(Struct, frozen=True):
    """The Cholesky factor of the lower triangle of a matrix, and zeros above it."""

    row: Loop
    column: Loop


Scan = Recurrence | Filter | Pick | Solve | Span | Factor


def mapped_scan(scan: Scan, expr: Callable[[Expr], Expr]) -> Scan:
    """A scan with all its expressions changed; loads must stay loads."""

    def load(old: Load) -> Load:
        new = expr(old)
        assert isinstance(new, Load)
        return new

    if isinstance(scan, Factor):
        return scan
    if isinstance(scan, Pick):
        return replace(scan, value=expr(scan.value), conditions=tuple(map(expr, scan.conditions)))
    if isinstance(scan, Span):
        start, stop, term = map(expr, (scan.start, scan.stop, scan.term))
        return replace(scan, start=start, stop=stop, term=term, factors=tuple(map(expr, scan.factors)))
    if isinstance(scan, Solve):
        return replace(scan, matrix=load(scan.matrix))
    if isinstance(scan, Filter):
        factors, previous = tuple(map(expr, scan.factors)), tuple(map(load, scan.previous))
        return replace(scan, factors=factors, term=expr(scan.term), previous=previous)
    factor = None if scan.factor is None else expr(scan.factor)
    restart = None if scan.restart is None else (expr(scan.restart[0]), expr(scan.restart[1]))
    return replace(scan, term=expr(scan.term), factor=factor, previous=load(scan.previous), restart=restart)


class ArrayStatement(Struct, frozen=True, eq=False):
    """A statement over array axes (outermost first); with none it is a scalar statement.

    `scan` says how it continues along one of its axes, at which position of it the best value is, what ranges of it are
    combined, of which system it stores the solution, or of which matrix the factor. Axes that go `beyond` their ends
    store there what nobody reads.
    """

    statement: Statement
    axes: tuple[Loop, ...]
    scan: Scan | None = None
    beyond: frozenset[Loop] = frozenset()


class Section(Struct, frozen=True):
    """A part of a buffer, `ranges` of its dimensions from the first to behind the last position, and its own buffer."""

    whole: Buffer
    part: Buffer
    ranges: tuple[tuple[int, int], ...]


class Phase(Struct, frozen=True):
    """Iterations `low <= var < stop` of a loop, with tighter boxes while they run: of loops in it that stay loops, and
    of the axes of each statement. The body works on sections of the buffers that are stored to."""

    low: int
    stop: int
    body: tuple[Node, ...]
    loops: Mapping[Loop, Box]
    axes: Mapping[ArrayStatement, Mapping[Loop, Box]]
    sections: tuple[Section, ...] = ()


class SequentialLoop(Struct, frozen=True, eq=False):
    """A loop that stays one, and why. It runs in `phases`, one after the other, if there are any.

    Steps that are `apart` need nothing of each other but to be combined.
    """

    loop: Loop
    body: tuple[Node, ...]
    reason: str
    phases: tuple[Phase, ...] = ()
    apart: bool = False


class Versions(Struct, frozen=True, eq=False):
    """The same done in two ways: `fast`, which is right where a `test` of the data holds, and `exact`, always right.

    The test is one truth value for all axes around; what it reads is stored by nodes before this one.
    """

    test: Expr
    fast: tuple[Node, ...]
    exact: tuple[Node, ...]
    reason: str


Node = ArrayStatement | SequentialLoop | Versions


def relocated_node(node: Node, old: Buffer, new: Buffer, place: Place) -> Node:
    """A node with another buffer in place of one, and elements of it at other places."""
    if isinstance(node, SequentialLoop):
        return replace(node, body=tuple(relocated_node(n, old, new, place) for n in node.body))
    if isinstance(node, Versions):
        test = relocated_expr(node.test, old, new, place)
        fast, exact = (tuple(relocated_node(n, old, new, place) for n in v) for v in (node.fast, node.exact))
        return replace(node, test=test, fast=fast, exact=exact)
    scan = None if node.scan is None else mapped_scan(node.scan, lambda e: relocated_expr(e, old, new, place))
    return replace(node, statement=relocated(node.statement, old, new, place), scan=scan)


def buffers_of(node: ArrayStatement) -> set[Buffer]:
    """The buffers that a statement reads or writes, or that its scan reads."""
    found = set(node.statement.buffers())

    def seen(expr: Expr) -> Expr:
        found.update(buffers_read(expr))
        return expr

    if node.scan is not None:
        mapped_scan(node.scan, seen)
    return found


def inner_statements(nodes: Iterable[Node]) -> Iterator[ArrayStatement]:
    """All array statements of a plan, in order."""
    for node in nodes:
        if isinstance(node, ArrayStatement):
            yield node
        elif isinstance(node, Versions):
            yield from inner_statements((*node.fast, *node.exact))
        else:
            yield from inner_statements(node.body)


def users_by_buffer(leaves: Iterable[ArrayStatement]) -> Mapping[Buffer, list[ArrayStatement]]:
    """Of each buffer the array statements that read or write it, in order; none of one that nobody does."""
    found: dict[Buffer, list[ArrayStatement]] = defaultdict(list)
    for leaf in leaves:
        for buffer in leaf.statement.buffers():
            found[buffer].append(leaf)
    return found


def whole_axes(leaf: ArrayStatement, boxes: Mapping[Loop, Box]) -> tuple[Loop, ...] | None:
    """The axis along each dimension of what a statement stores, where it stores to all of a buffer of known size."""
    store = leaf.statement.store
    axes: list[Loop] = []
    for index, size in zip(store.indices, store.buffer.shape, strict=True):
        along = [a for a in leaf.axes if linear(index).equals(linear(a.var))]
        if len(along) != 1 or not linear(size).is_const:
            return None
        box = boxes.get(along[0])
        if box is None or not (box.exact and box.low.equals(0) and box.extent.equals(linear(size))):
            return None
        axes += along
    return tuple(axes) if len(set(axes)) == len(leaf.axes) == len(axes) else None


class Plan(Struct):
    """The schedule of a program, with what emission must know about its loops."""

    nodes: tuple[Node, ...]
    boxes: Mapping[Loop, Box]
    static: frozenset[Var]
    expanded: dict[Buffer, tuple[Loop, ...]] = field(default_factory=dict[Buffer, tuple[Loop, ...]])


def separate_parts(writer: ArrayStatement, reader: ArrayStatement, load: Load) -> bool:
    """Whether a statement never reads by `load` what another, between the same steps of loops, writes."""
    axes = {*writer.axes, *reader.axes}
    around = [loop for loop in writer.statement.loops if loop not in axes]
    return not may_meet(writer.statement, reader.statement, load, around)
