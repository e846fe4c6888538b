"""Random programs of the kinds that rules speak of. Owns the list of kinds; each is a function from a writer."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from msgspec.structs import replace

from egraph_rules.check.programs.calling import with_calls
from egraph_rules.check.programs.repeating import (
    chosen_terms,
    counting,
    extremes,
    packed,
    partial_totals,
    remainders,
    repeated_terms,
    sums_apart,
    tiles,
    totals,
    unrolled_by_hand,
)
from egraph_rules.check.programs.rounding import rounded
from egraph_rules.check.programs.writer import INDEX, Scope, Writer, number
from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    BinaryOp,
    Block,
    Buffer,
    Cast,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Stmt,
    Store,
    Unary,
    Undef,
    const,
    seq,
)
from ir.testing.draw import Source

Idiom = Callable[[Writer], Stmt]


def nest(w: Writer, body: Callable[[Scope, tuple[Expr, ...], Expr], Stmt]) -> Stmt:
    """Loops over all elements; `body` gets the scope, the element's indices and its place in the logical order."""
    names = [w.var("i") for _ in w.shape]
    scope = Scope()
    for var, extent in zip(names, w.shape, strict=True):
        scope = scope.binding(var, 0, extent)
    flat: Expr = names[0]
    for var, extent in zip(names[1:], w.shape[1:], strict=True):
        flat = flat * extent + var
    stmt = body(scope, tuple(names), flat)
    for var, extent in zip(reversed(names), reversed(w.shape), strict=True):
        stmt = For(var, number(0), number(extent), stmt)
    return stmt


def _size(w: Writer) -> int:
    return prod(w.shape)


def _near(w: Writer, around: int) -> int:
    return around + w.source.pick(0, 0, -1, 1, 2)


def _padding(w: Writer, flat: Expr, valid: int) -> Expr:
    """A condition for the padding, or for nearly the padding."""
    return w.source.pick(flat >= _near(w, valid), flat >= valid, ~(flat < valid))


def anything(w: Writer) -> Stmt:
    """Statements of any kind."""
    return seq(*(w.statement(Scope(), 3) for _ in range(w.source.pick(1, 2, 3))))


def in_loop(w: Writer) -> Stmt:
    """A loop over any statement."""
    return w.loop(Scope(), lambda scope: w.statement(scope, 2))


def neighbours(w: Writer) -> Stmt:
    """Adjacent branches with related conditions; the first may change the second's."""

    def pair(scope: Scope) -> Stmt:
        if w.source.flag():
            cond, first = w.tested(scope)
        else:
            cond, first = w.condition(scope), w.statement(scope, 1)
        other = w.source.pick(cond, ~cond, cond, w.condition(scope), cond & w.condition(scope, 0))
        otherwise = w.store(scope) if w.source.flag(3) else SKIP
        return seq(If(cond, first, otherwise), If(other, w.statement(scope, 1), SKIP))

    return pair(Scope()) if w.source.flag(3) else w.loop(Scope(), pair)


def padded_stage(w: Writer) -> Stmt:
    """Padding is written, perhaps elsewhere as well, and then read, with a guard or without one."""
    source = w.written()
    target = w.buffer(w.source.pick(*(b for b in ("A", "B") if b != source.name)))
    valid = w.source.integer(1, _size(w))
    value = w.source.pick(w.constant(), Undef(w.dtype), w.constant())

    def write(scope: Scope, here: tuple[Expr, ...], flat: Expr) -> Stmt:
        del scope
        return If(_padding(w, flat, valid), Store(source, here, value), SKIP)

    def read(scope: Scope, here: tuple[Expr, ...], flat: Expr) -> Stmt:
        element = Load(source, here)
        match w.source.pick("copy", "sum", "copy", "else"):
            case "sum":
                total = Load(target, tuple(number(0) for _ in w.shape))
                store: Stmt = Store(target, total.indices, total + element)
            case "else":
                return If(flat < _near(w, valid), Store(target, here, element), Store(target, here, w.constant()))
            case _:
                store = Store(target, here, element * 2 if not w.dtype.is_float else element * 2.0)
        return store if w.source.flag(3) else If(flat < _near(w, valid), store, SKIP)

    between = w.store(Scope()) if w.source.flag(4) else SKIP
    after = nest(w, write) if w.source.flag(4) else SKIP
    return seq(nest(w, write), between, nest(w, read), after)


def assumed(w: Writer) -> Stmt:
    """An assumption about padding, perhaps a write, and a use under some guard."""
    source = w.buffer(w.source.pick("A", "C", "B"))
    target = w.buffer("B" if source.name == "A" else "A")
    valid = w.source.integer(0, _size(w))
    value = w.source.pick(w.constant(), w.constant(), Undef(w.dtype))

    def assume(scope: Scope, here: tuple[Expr, ...], flat: Expr) -> Stmt:
        del scope
        known = Binary("eq", Load(source, here), value)
        return Assume(w.source.pick((flat < valid) | known, known | ~(flat >= valid)))

    def use(scope: Scope, here: tuple[Expr, ...], flat: Expr) -> Stmt:
        total = Load(target, tuple(number(0) for _ in w.shape))
        element = Load(source, here)
        cond = w.source.pick(flat < _near(w, valid), Binary("eq", element, w.constant()), w.condition(scope))
        store = w.source.pick(Store(target, here, element), Store(target, total.indices, total + element))
        return w.source.pick(If(cond, store, SKIP), store, If(cond, store, Store(target, here, w.constant())))

    between = w.store(Scope()) if w.source.flag(3) else SKIP
    return seq(nest(w, assume), between, nest(w, use))


def assumed_data(w: Writer) -> Stmt:
    """An assumption about one element or a scalar, a statement, and a branch on the same."""

    def body(scope: Scope) -> Stmt:
        if w.source.flag():
            cond, change = w.tested(scope)
        else:
            cond, change = w.condition(scope), w.store(scope)
        use = If(w.source.pick(cond, ~cond), w.statement(scope, 1), w.store(scope))
        if w.source.flag(3) and isinstance(cond, Binary):
            use = Store(
                w.buffer("B"),
                w.place(w.buffer("B"), scope).indices,
                cond.lhs if isinstance(cond.lhs, Load) else w.constant(),
            )
        return seq(Assume(cond), change if w.source.flag() else SKIP, use)

    return body(Scope()) if w.source.flag() else w.loop(Scope(), body)


def bindings(w: Writer) -> Stmt:
    """Bindings, in loops and around them, and branches on what is bound."""

    def use(scope: Scope) -> Stmt:
        return w.source.pick(
            If(w.condition(scope), w.store(scope), SKIP), seq(w.store(scope), w.store(scope)), w.statement(scope, 1)
        )

    def inner(scope: Scope) -> Stmt:
        if w.source.flag(4):
            value = Binary("floormod", w.whole(scope, 1), number(4))
            one, other = w.var("k"), w.var("k")
            names = scope.binding(one, 0, 4).binding(other, 0, 4)
            return Let(one, value, Let(other, value, use(names)))
        return w.let(scope, lambda names: w.let(names, use) if w.source.flag(3) else use(names))

    def hoistable(scope: Scope) -> Stmt:
        var = w.var("k")
        value = Binary("floormod", w.whole(replace(scope, ranges=scope.ranges[:-1]), 1), number(4))
        return Let(var, value, use(scope.binding(var, 0, 4)))

    def carried(scope: Scope) -> Stmt:
        outside = replace(scope, ranges=scope.ranges[:-1])
        element, x = w.place(w.written(), outside), w.var("x", w.dtype)
        change = Store(element.buffer, element.indices, w.source.pick(x + w.constant(), w.constant(), x * w.constant()))
        target = w.place(w.buffer("B"), scope)
        use = Store(target.buffer, target.indices, x)
        return Let(x, element, w.source.pick(seq(change, use), seq(use, change)))

    match w.source.pick("inside", "outside", "nested", "hoistable", "carried", "carried", "alone"):
        case "carried":
            return w.loop(Scope(), carried)
        case "hoistable":
            return w.loop(Scope(), hoistable)
        case "inside":
            return w.loop(Scope(), inner)
        case "outside":
            return w.let(Scope(), lambda scope: w.loop(scope, use))
        case "nested":
            return w.loop(Scope(), lambda outer: w.loop(outer, inner))
        case _:
            return inner(Scope())


def read_twice(w: Writer) -> Stmt:
    """One element, perhaps undef, bound or read several times, with a write between."""
    element = w.place(w.read(), Scope())
    target = w.buffer("B" if element.buffer.name == "A" else "A")
    x = w.var("x", w.dtype)
    writable = element.buffer.name != "C"
    spoil = Store(element.buffer, element.indices, Undef(w.dtype)) if writable and w.source.flag(3) else SKIP
    change = Store(element.buffer, element.indices, w.constant()) if writable else SKIP
    between = w.source.pick(SKIP, change, w.store(Scope()))
    first, second = (w.place(target, Scope()).indices for _ in range(2))
    use = w.source.pick(x - x, x + x, x * w.constant(), x, Binary("max", x, w.constant()))
    stmt = seq(Store(target, first, use), between, Store(target, second, x))
    match w.source.pick("bound", "read"):
        case "bound":
            return seq(spoil, Let(x, element, stmt))
        case _:
            twice = w.source.pick(element - element, element - element, element + element, element)
            return seq(spoil, Store(target, first, twice), between, Store(target, second, element))


def adjacent_loops(w: Writer) -> Stmt:
    """Loops of equal extent next to each other, with or without a dependence between them."""
    extent = w.shape[0]
    rest = tuple(number(0) for _ in w.shape[1:])
    one, other = w.var("i"), w.var("i")
    first, second = w.written(), w.written()

    def at(buffer: Buffer, index: Expr) -> Load:
        return Load(buffer, (index, *rest))

    def shifted(var: Expr) -> Expr:
        return w.source.pick(var, Binary("min", var + 1, number(extent - 1)), number(extent - 1) - var, number(0))

    def body(var: Expr, target: Buffer) -> Stmt:
        read = at(w.read(), shifted(var))
        place = at(target, w.source.pick(var, shifted(var)))
        value = w.source.pick(read, read + w.constant(), place + read, w.constant())
        store: Stmt = Store(target, place.indices, value)
        return If(var < w.source.integer(1, extent), store, SKIP) if w.source.flag(4) else store

    count = w.source.pick(number(extent), number(extent), w.n % (extent + 1))
    between = w.store(Scope()) if w.source.flag(4) else SKIP
    return seq(For(one, number(0), count, body(one, first)), between, For(other, number(0), count, body(other, second)))


def reduction(w: Writer) -> Stmt:
    """A sum or extremum into an element, its initialisation guarded or not."""
    source, rows = w.read(), w.shape[0]
    target = w.buffer("B" if source.name == "A" else "A")
    row, column = w.var("r"), w.var("c")
    rest = tuple(number(0) for _ in w.shape[1:])
    total = Load(target, (row, *rest))
    element = Load(source, (column if len(w.shape) == 1 else row, *(column for _ in w.shape[1:])))
    update = w.source.pick(total + element, Binary("max", total, element), total + element * w.constant())
    fold: Stmt = Store(target, total.indices, update)
    count = w.shape[-1]
    if w.source.flag():
        fold = If(column < w.source.integer(0, count), fold, SKIP)
    loop = For(column, number(0), w.source.pick(number(count), w.n % (count + 1)), fold)
    init: Stmt = Store(target, total.indices, w.constant())
    bound = w.source.integer(0, rows)
    match w.source.pick("plain", "guarded", "init", "split"):
        case "guarded":
            body = If(row < bound, seq(init, loop), SKIP)
        case "init":
            body = seq(init, If(row < bound, loop, SKIP))
        case "split":
            body = seq(If(row < bound, init, SKIP), If(row < _near(w, bound), loop, SKIP))
        case _:
            body = seq(init, loop)
    return For(row, number(0), number(rows), body)


def relative_sums(w: Writer) -> Stmt:
    """Sums relative to a maximum that grows, rescaled or nearly so."""
    w.dtype = DType.FLOAT32
    source, target, step = w.read(), w.written(), w.var("j")
    largest, total = (Buffer(name, (number(1),), w.dtype) for name in ("m", "l"))
    m, sums = Load(largest, (number(0),)), Load(total, (number(0),))
    n, term = w.var("n", w.dtype), Load(source, (step, *(number(0) for _ in source.shape[1:])))
    shrink = Unary("exp", w.source.pick(m - n, m - n, m - n, n - m))
    weight = w.source.pick(const(1.0, w.dtype), term, Load(source, term.indices), m)
    more = weight * Unary("exp", w.source.pick(term, term, w.constant()) - w.source.pick(n, n, n, m))
    rescaled = w.source.pick(sums * shrink + more, sums * shrink + more, more + shrink * sums, sums + more)
    stores: list[Stmt] = [Store(total, sums.indices, rescaled), Store(largest, m.indices, n)]
    if w.source.flag(4):
        stores.insert(1, Store(target, tuple(number(0) for _ in target.shape), sums))
    body: Stmt = Let(n, Binary("max", m, term), seq(*stores))
    if w.source.flag(3):
        body = If(w.condition(Scope(), 1), body, SKIP)
    loop = For(step, number(0), w.source.pick(number(w.shape[0]), w.n % (w.shape[0] + 1)), body)
    first = Store(largest, m.indices, w.source.pick(const(-4.0, w.dtype), const(0.0, w.dtype)))
    began = w.source.pick(SKIP, first, first)
    done = seq(Store(target, tuple(number(0) for _ in target.shape), sums), SKIP)
    return Alloc(largest, Alloc(total, seq(began, Store(total, sums.indices, w.constant()), loop, done)))


def stores_in_a_row(w: Writer) -> Stmt:
    """Stores to elements that may be the same, with reads between."""
    places = [w.place(w.written(), Scope()) for _ in range(2)]

    def store(scope: Scope) -> Stmt:
        place = w.source.pick(*places)
        element = w.source.pick(*places)
        both = place + Load(place.buffer, element.indices)  # perhaps the same one twice
        value = w.source.pick(w.constant(), w.value(scope, 1), element, Undef(w.dtype), both)
        return Store(place.buffer, place.indices, value)

    def body(scope: Scope) -> Stmt:
        return seq(*(store(scope) for _ in range(w.source.pick(2, 3))))

    return body(Scope()) if w.source.flag() else w.loop(Scope(), body)


def trip_counts(w: Writer) -> Stmt:
    """Loops that run never, once or not for sure, over what does not depend on them; guarded iterations."""

    def body(scope: Scope) -> Stmt:
        outside = replace(scope, ranges=scope.ranges[:-1])
        place = w.place(w.written(), outside)
        same = Store(place.buffer, place.indices, w.constant())
        plain = w.source.pick(w.store(scope), w.store(outside), same)
        guard = w.condition(w.source.pick(scope, scope, outside))
        if w.source.flag(3):
            guard, change = w.tested(outside)
            return If(guard, seq(w.store(scope), change), SKIP)
        return w.source.pick(plain, If(guard, plain, SKIP), seq(plain, If(guard, w.store(scope), SKIP)))

    if w.source.flag(3):
        return w.loop(Scope(), lambda outer: w.loop(outer, body))
    return w.loop(Scope(), body)


def sizes(w: Writer) -> Stmt:
    """Loops over a size, which compute with it what cannot overflow where they do not run."""
    size, steps, target = w.n, w.var("i"), w.written()
    square = size * size
    work = square + w.source.pick(steps, number(1), square)
    value = work if w.dtype is DType.INT32 else Cast(w.dtype, work)
    element = Load(target, tuple(number(0) for _ in w.shape))
    store = Store(target, element.indices, w.source.pick(value, element + value, element * value))
    loop = For(steps, number(0), size, w.source.pick(store, store, If(steps < size, store, SKIP)))
    return seq(Assume(size >= w.source.pick(0, 0, 0, 1)), loop) if w.source.flag() else loop


def local_of_a_size(w: Writer) -> Stmt:
    """A local buffer that may have no elements, written and read under a guard."""
    size, steps, target = w.n % 3, w.var("i"), w.written()
    local = Buffer("S", (size,), w.dtype)
    inside = steps < w.source.pick(size, size, w.n % 3 - 1)
    element = Load(target, tuple(number(0) for _ in w.shape))
    write = If(inside, Store(local, (steps,), w.constant()), SKIP)
    read = If(inside, Store(target, element.indices, element + Load(local, (steps,))), SKIP)
    return Alloc(local, For(steps, number(0), number(w.source.pick(2, 3)), seq(write, read)))


def ordered(w: Writer) -> Stmt:
    """Loops whose iterations write what others read or write."""

    def body(scope: Scope) -> Stmt:
        target = w.place(w.buffer("A"), scope)
        other = w.place(w.buffer("A"), scope)
        flat: Expr = number(0)
        for var, low, high in scope.ranges:
            flat = flat * (high - low) + var
        here = flat if w.dtype is DType.INT32 else Cast(w.dtype, flat)
        value = w.source.pick(here, target + other, target + target + here, other, other + w.constant())
        return Store(target.buffer, target.indices, value)

    if w.source.flag(3):
        return w.loop(Scope(), body)
    return w.loop(Scope(), lambda outer: w.loop(outer, body, w.source.pick(2, 3, None)))


def overhanging(w: Writer) -> Stmt:
    """Loops that reach beyond the buffer, with guards that keep most accesses inside."""
    extent, rest = w.shape[0], tuple(number(0) for _ in w.shape[1:])
    var = w.var("i")
    scope = Scope().binding(var, 0, extent)
    shift = w.source.pick(0, 1, -1)
    index = w.source.pick(var + shift, var + shift, var // 1)
    target = w.buffer(w.source.pick("A", "B"))
    element = Load(
        w.buffer(w.source.pick("C", "A")), (w.source.pick(index, var, Binary("floormod", var, number(2))), *rest)
    )
    inside = w.source.pick((index >= 0) & (index < extent), index < extent, var < extent, var < extent - 1)
    store = Store(target, (w.source.pick(index, var), *rest), w.source.pick(element, element + w.constant()))
    spoil = nest(w, lambda _, here, flat: If(flat >= w.source.integer(0, 3), Store(target, here, Undef(w.dtype)), SKIP))
    loop = For(
        var, number(0), number(extent + w.source.pick(2, 1, 0)), If(inside, store, w.source.pick(SKIP, w.store(scope)))
    )
    return seq(loop, spoil) if w.source.flag(3) else loop


def selections(w: Writer) -> Stmt:
    """Conditional expressions whose arms agree, or nearly, where the condition fails, or are chosen in turn."""

    def body(scope: Scope) -> Stmt:
        cond = w.condition(scope)
        one = w.value(scope, 1)
        other = w.source.pick(one, w.constant(), Undef(w.dtype), w.value(scope, 1))
        if w.source.flag(4):
            inner = Select(w.condition(scope), *w.source.pick((one, other), (other, one)))
            one, other = w.source.pick((inner, other), (one, inner))
        elif w.source.flag():
            shared = w.value(scope, 0)
            one, other = w.source.pick((one + shared, other + shared), (shared - one, shared - other))
        place = w.place(w.written(), scope)
        store = Store(place.buffer, place.indices, Select(cond, one, other))
        return seq(Assume(cond | Binary("eq", one, w.constant())), store) if w.source.flag(3) else store

    return w.loop(Scope(), body) if w.source.flag() else body(Scope())


def same_branches(w: Writer) -> Stmt:
    """Branches whose arms are, or begin or end, alike, or are loops over one range; nested branches."""

    def body(scope: Scope) -> Stmt:
        cond, one, other = w.condition(scope), w.store(scope), w.store(scope)
        inner = If(w.condition(scope), one, w.source.pick(SKIP, other))
        match w.source.pick("same", "front", "back", "nested", "again", "loops"):
            case "same":
                return If(cond, one, one)
            case "loops":
                target, var, count = w.written(), w.var("j"), w.source.pick(3, 2, 1, 0)
                inner_scope = scope.binding(var, 0, count)
                arms = (w.store(inner_scope, target), w.store(inner_scope, w.source.pick(target, target, w.written())))
                yes, no = (For(var, number(0), number(count), arm) for arm in arms)
                return If(cond, yes, no)
            case "front":
                return If(cond, seq(one, other), w.source.pick(one, seq(one, w.store(scope))))
            case "back":
                return If(cond, seq(other, one), w.source.pick(one, seq(w.store(scope), one)))
            case "again":
                return If(cond, seq(one, If(w.source.pick(cond, ~cond), other, w.store(scope))), SKIP)
            case _:
                return If(cond, inner, w.source.pick(SKIP, other, inner))

    return w.loop(Scope(), body) if w.source.flag() else body(Scope())


def nothing(w: Writer) -> Stmt:
    """Statements that change nothing, or nothing that matters, inside others."""
    target = w.written()
    place = w.place(target, Scope())
    known = w.constant()
    store = Store(target, place.indices, known)

    def idle(scope: Scope) -> Stmt:
        back = w.place(target, scope)
        match w.source.pick("back", "again", "dead", "assume", "evaluate", "store"):
            case "back":
                return Store(target, back.indices, back)
            case "again":
                return store
            case "assume":
                return w.source.pick(Assume, Assert)(w.source.pick(w.n >= w.n, w.n < w.n + 1, w.condition(scope)))
            case "evaluate":
                return Evaluate(w.value(scope, 1))
            case "store":
                return w.store(scope)
            case _:
                local = Buffer("M", target.shape, w.dtype)
                if w.source.flag(3):
                    quotient = 4 // w.n
                    value = quotient if w.dtype is DType.INT32 else Cast(w.dtype, quotient)
                    return Alloc(local, If(Binary("ne", w.n, number(0)), Store(local, back.indices, value), SKIP))
                return Alloc(local, Store(local, back.indices, w.value(scope, 1)))

    def wrapped(scope: Scope) -> Stmt:
        match w.source.pick("let", "block", "loop", "branch", "alloc", "plain", "two"):
            case "let":
                return Let(w.var("x", w.dtype), w.value(scope, 1), idle(scope))
            case "block":
                return Block(w.var("block").name, idle(scope))
            case "loop":
                return w.loop(scope, idle)
            case "branch":
                return If(w.condition(scope), idle(scope), w.source.pick(SKIP, idle(scope)))
            case "alloc":
                return Alloc(Buffer("K", target.shape, w.dtype), idle(scope))
            case "two":
                return seq(idle(scope), idle(scope))
            case _:
                return idle(scope)

    inner = wrapped(Scope())
    if w.source.flag(3):
        inner = Block(w.var("block").name, inner)
    return seq(store, inner) if w.source.flag() else seq(inner, store)


def local_stage(w: Writer) -> Stmt:
    """A local buffer that is produced under a guard, whole or in part, and consumed."""
    local = w.buffer("L")
    target, source = w.buffer("A"), w.buffer(w.source.pick("C", "B", "A"))
    valid = w.source.integer(0, _size(w))

    def produce(scope: Scope, here: tuple[Expr, ...], flat: Expr) -> Stmt:
        value = w.source.pick(Load(source, here), Load(source, here) + w.constant(), w.value(scope, 1))
        store, rest = Store(local, here, value), Store(local, here, w.constant())
        both = (flat < valid) & (flat >= w.source.pick(0, 1))
        chosen = Store(local, here, Select(both, value, rest.value))
        guarded = If(flat < valid, store, w.source.pick(SKIP, rest))
        return w.source.pick(store, guarded, chosen, chosen)

    def consume(scope: Scope, here: tuple[Expr, ...], flat: Expr) -> Stmt:
        element = w.source.pick(Load(local, here), Load(local, here), w.place(local, scope))
        more = w.constant()
        store = Store(target, here, element if more.same(const(0, w.dtype)) else element + more)
        return If(flat < _near(w, valid), store, SKIP) if w.source.flag() else store

    between = w.store(Scope()) if w.source.flag(4) else SKIP
    return Alloc(local, seq(nest(w, produce), between, nest(w, consume)))


def index_arithmetic(w: Writer) -> Stmt:
    """Stores of integer expressions over loop variables, and branches and selections on them."""
    if w.dtype.is_float:
        w.dtype = DType.INT32

    def body(scope: Scope) -> Stmt:
        value = w.whole(scope)
        wide = value if w.dtype is DType.INT32 else Binary("mul", w.constant(), w.constant())
        store = Store(w.buffer("A"), w.place(w.buffer("A"), scope).indices, wide)
        return w.source.pick(store, If(w.whole(scope) < w.whole(scope, 1), store, SKIP))

    return w.loop(Scope(), lambda outer: w.loop(outer, body) if w.source.flag() else body(outer))


def at_the_limit(w: Writer) -> Stmt:
    """Sums that stay in their dtype in the order in which they are written, and leave it in another one."""
    w.dtype = INDEX
    outer, inner = w.var("i"), w.var("j")
    first, second = w.source.pick((outer, inner), (inner, outer))
    limit, guard = w.source.pick((INDEX.max, first <= second), (INDEX.min, first >= second))
    value = (first - second) + const(limit, INDEX)
    target = w.written()
    store = Store(target, w.place(target, Scope()).indices, value)
    body: Stmt = If(guard, store, SKIP)
    extents = [number(w.source.pick(3, 4)) for _ in range(2)]
    return For(outer, number(0), extents[0], For(inner, number(0), extents[1], body))


def flattened(w: Writer) -> Stmt:
    """A nest of loops over a buffer whose indices are sums of products, as of rows that lie behind each other."""
    size = w.shape[0]
    outer, inner = w.var("i"), w.var("j")
    rows = w.source.pick(1, 2, w.n % 3)
    stride = w.source.pick(size // 2, 2)
    columns = w.source.pick(number(stride), number(max(stride - 1, 0)), w.n % (stride + 1))
    index = outer * stride + inner if w.source.flag() else inner + outer * number(stride)
    if w.source.flag(3):
        columns, index = w.n, w.source.pick(outer * w.n + inner, inner + w.n * outer)
    rest = tuple(number(0) for _ in w.shape[1:])
    target, source = w.written(), w.read()
    value = Load(source, (index, *rest))
    store = Store(target, (index, *rest), w.source.pick(value, value + w.constant(), w.constant()))
    body: Stmt = If(inner < w.n, store, SKIP) if w.source.flag(4) else store
    return For(outer, number(0), rows if isinstance(rows, Expr) else number(rows), For(inner, number(0), columns, body))


def narrowed(w: Writer) -> Stmt:
    """Stores of values that a cast or a shift changes, or just not."""
    w.dtype = INDEX

    def body(scope: Scope) -> Stmt:
        inner = w.whole(scope, 1) * w.source.pick(1, 1, -1, 64) + w.source.pick(0, -3, 126, 300)
        through = w.source.pick(DType.INT8, DType.UINT8, DType.INT16, DType.INT64)
        shifted = inner >> w.source.pick(1, 2, 3)
        value = w.source.pick(Cast(INDEX, Cast(through, inner)), shifted, shifted + w.whole(scope, 0))
        target = w.buffer("A")
        return Store(target, w.place(target, scope).indices, value)

    return w.loop(Scope(), body)


def carried(w: Writer) -> Stmt:
    """Two loops whose iterations read what others wrote: the order of both may matter."""
    target, rows, columns = w.written(), w.var("i"), w.var("j")
    here = [w.source.pick(rows, rows, columns), *(number(0) for _ in w.shape[1:])]
    there = [w.source.pick(columns, columns, rows), *(number(0) for _ in w.shape[1:])]
    element = Load(target, tuple(there))
    value = w.source.pick(element + w.constant(), element * w.constant(), element + w.place(w.read(), Scope()))
    store: Stmt = Store(target, tuple(here), value)
    body = If(w.condition(Scope(), 0), store, SKIP) if w.source.flag(4) else store
    extents = [number(w.source.pick(w.shape[0], 2)) for _ in range(2)]
    return For(rows, number(0), extents[0], For(columns, number(0), extents[1], body))


def relaid(w: Writer) -> Stmt:
    """A loop over the elements of a grouped buffer in their order, by quotient and remainder."""
    w.shape = w.source.pick((4, 4), (3, 4), (6, 2))
    rows, columns = w.shape
    flat = w.var("i")
    shift, count = w.source.pick(0, 0, 1, 2), rows * columns - w.source.pick(0, 0, 1, 3)
    position = flat + shift if shift else flat
    target, source = w.written(), w.read()
    here = (position // columns, position % columns)
    element = Load(source, w.source.pick(here, (flat // columns, flat % columns)))
    store: Stmt = Store(target, here, w.source.pick(w.constant(), element, element + w.constant()))
    body = If(position < w.n, store, SKIP) if w.source.flag(4) else store
    return For(flat, number(0), number(max(count - shift, 0)), body)


def borders(w: Writer) -> Stmt:
    """Nests that store to some places at both ends of an axis, or a place too many or too few."""
    target, axis = w.written(), w.source.integer(0, len(w.shape) - 1)

    def body(scope: Scope, here: tuple[Expr, ...], flat: Expr) -> Stmt:
        first, last = w.source.pick(0, 1, 1, 2), w.shape[axis] - w.source.pick(1, 1, 2, 0)
        low, high = here[axis] < first, here[axis] >= last
        store: Stmt = Store(target, here, w.source.pick(w.constant(), w.value(scope, 1)))
        again: Stmt = Store(target, here, w.constant())
        other = w.source.pick(SKIP, again)
        return w.source.pick(If(low | high, store, SKIP), seq(If(low, store, SKIP), If(high, again, SKIP)),
                             If(low, store, If(high, again, SKIP)), If(low | high, store, other))  # fmt: skip

    return nest(w, body)


def over_bits(w: Writer) -> Stmt:
    """A loop over the bits of an element, or over a bit too many or too few, that folds them into another."""
    kind = w.source.pick("bit", "bit", "bit", "guarded bit", "shift", "last bit")
    w.dtype = w.source.pick(DType.UINT8 if kind == "shift" else DType.INT32, DType.INT8, DType.UINT8)
    target, bit, guarded = w.place(w.written(), Scope()), w.var("b"), kind in ("guarded bit", "last bit")
    x = w.source.pick(w.place(w.read(), Scope()), w.place(w.read(), Scope()) * w.constant(), target)
    if guarded and w.source.flag(3):  # what never runs may be anywhere
        x, target = const(0, w.dtype), Load(target.buffer, (number(w.shape[0]), *target.indices[1:]))
    place = Cast(w.dtype, bit) if w.dtype is not INDEX or w.source.flag() else bit
    shifted = Binary("bitand", Binary("shr", x, place), const(w.source.pick(1, 1, 1, 3), w.dtype))
    usual: BinaryOp = "bitxor" if kind == "shift" else "add"
    op: BinaryOp = w.source.pick(usual, usual, "bitxor", "bitor")
    value: Expr = Binary(op, target, Binary("shr", x, place) if kind == "shift" else shifted)
    if kind == "last bit":
        value = w.source.pick(place, place, w.place(w.read(), Scope()), w.constant(), place * w.constant())
    elif guarded:
        value = Binary(op, target, const(1, w.dtype))
    store: Stmt = Store(target.buffer, target.indices, value)
    store = If(shifted == 1, store, SKIP) if guarded else store
    first, bits = w.source.pick(0, 0, 1), w.dtype.bits
    return For(bit, number(first), number(bits - w.source.pick(first, first, first, first + 1, 3)), store)


def calling(w: Writer) -> Stmt:
    """Statements whose operators are functions of the user's."""
    return with_calls(w.source, w.source.pick(anything, selections, bindings, index_arithmetic)(w))


IDIOMS: tuple[Idiom, ...] = (  # those of bits twice: few of them are what a rule speaks of
    in_loop, neighbours, padded_stage, assumed, assumed_data, bindings, read_twice, adjacent_loops, reduction,
    stores_in_a_row, trip_counts, sizes, local_of_a_size, ordered, overhanging, selections, same_branches, nothing,
    local_stage, index_arithmetic, at_the_limit, flattened, narrowed, carried, relaid, anything, calling, over_bits,
    relative_sums, repeated_terms, borders, chosen_terms, tiles, unrolled_by_hand, sums_apart, rounded, over_bits,
    counting, remainders, extremes, totals, packed, partial_totals,
)  # fmt: skip


def program(source: Source, idiom: Idiom) -> PrimFunc:
    """A program of one kind, sometimes with another statement before it or after it, or a branch or loop around."""
    w = Writer(source)
    w.local = idiom not in (local_stage,) and source.flag(4)
    body = idiom(w)
    if not source.flag(3):
        return w.function(body)
    match source.pick("after", "before", "branch", "loop"):
        case "after":
            body = seq(body, w.store(Scope()))
        case "before":
            body = seq(w.store(Scope()), body)
        case "branch":
            body = If(w.condition(Scope()), body, w.store(Scope()) if source.flag() else SKIP)
        case _:
            var = w.var("o")
            body = For(var, number(0), number(source.pick(2, 1, 0)), body)
    return w.function(body)
