"""Random nests in which things come again: functions of one element, terms that are zero, loops over tiles."""

from __future__ import annotations

from egraph_rules.check.programs.writer import INDEX, Scope, Writer, number
from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    Assume,
    Binary,
    BinaryOp,
    Buffer,
    Cast,
    Expr,
    For,
    If,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    const,
    seq,
)
from ir.traverse import free_vars, substitute

_UPDATES: tuple[BinaryOp, ...] = ("add", "add", "mul", "max")


def _element(buffer: Buffer, index: Expr) -> Load:
    """An element of the first row of all."""
    return Load(buffer, (*(number(0) for _ in buffer.shape[1:]), index))


def repeated_terms(w: Writer) -> Stmt:
    """Functions of elements of one loop, of shifted ones, in a triangle, in steps; of what the loops write, too."""
    w.dtype = DType.FLOAT32
    source, target, size = w.read(), w.written(), w.shape[-1]
    outer, inner = w.var("i"), w.var("j")
    sum_of_both = Binary("add", outer, inner)

    term: Expr = _element(source, w.source.pick(outer, inner, inner, sum_of_both, sum_of_both))
    if w.source.flag(3):
        term = term + _element(w.read(), w.source.pick(inner, inner, sum_of_both))
    term = Unary(w.source.pick("exp", "tanh", "exp", "abs"), term)
    own = _element(target, w.source.pick(outer, inner, number(0)))
    value = w.source.pick(own + term, own * w.constant() + term, term, Binary("max", own, term) * w.constant())
    body: Stmt = Store(target, own.indices, value)
    scope = Scope().binding(outer, 0, 2).binding(inner, 0, size - 1)
    if w.source.flag(3):
        cond = w.source.pick(inner < w.source.integer(1, size), sum_of_both < 2, w.condition(scope, 1))
        body = If(cond, body, SKIP)
    count = w.source.pick(number(size - 1), number(size - 1), Binary("add", outer, number(1)), w.n % size)
    rows = w.source.pick(number(2), number(2), w.n % 3)
    return For(outer, number(0), rows, For(inner, number(0), count, body))


def counting(w: Writer) -> Stmt:
    """A counter in a nest of rectangles, triangles and bands, some of them empty, and stores where it points to."""
    source, size, kind = w.source, w.shape[-1], w.source.pick(DType.INT32, DType.INT64)
    counter = Load(Buffer("T", (number(1),), kind), (number(0),))
    outer, inner = w.var("i"), w.var("j")
    low = Binary("max", number(0), outer - 1)
    start, extent = source.pick(
        (number(0), number(source.integer(0, 3))), (number(0), outer + 1), (outer, number(3) - outer),
        (low, Binary("min", number(3), outer + 2) - low), (number(0), outer - 1), (number(-1), w.n % 3),
    )  # fmt: skip

    def at(shift: Expr) -> Load:
        held = counter if kind is INDEX else Cast(INDEX, counter)
        return _element(w.written(), Binary("floormod", held + shift, number(size)))

    target = at(source.pick(number(0), outer, inner))
    store: Stmt = Store(target.buffer, target.indices, source.pick(w.constant(), target + w.constant()))
    step = source.pick(number(1), number(1), number(2), number(-1), outer, inner, outer + inner)
    count: Stmt = Store(counter.buffer, counter.indices, counter + (step if kind is INDEX else Cast(kind, step)))
    if source.flag(4):
        count = If(w.condition(Scope().binding(outer, 0, 3)), count, SKIP)
    again = Store(counter.buffer, counter.indices, counter + 1)
    inside = seq(*source.pick((store, count), (count, store), (store, count, store), (count, store, again)))
    body: Stmt = For(inner, start, extent, inside)
    body = source.pick(
        body, body, seq(body, again), seq(store if inner not in free_vars(*target.indices) else body, body)
    )
    last = at(number(0))
    after = Store(last.buffer, last.indices, w.constant())
    nest = For(outer, number(0), source.pick(number(3), number(3), w.n % 4), body)
    return Alloc(
        counter.buffer, seq(Store(counter.buffer, counter.indices, const(source.pick(0, 3), kind)), nest, after)
    )


def extremes(w: Writer) -> Stmt:
    """Choices by a comparison: of what is compared, of one of both or a number and what is made of the other."""

    def body(scope: Scope) -> Stmt:
        one, other = w.value(scope, w.source.pick(0, 0, 0, 1)), w.value(scope, 0)
        limit = w.source.pick(w.constant(), const(0, w.dtype), other)
        bounded = Binary(w.source.pick("max", "min"), one, w.constant())
        arms = w.source.pick((one, limit), (bounded, limit), (const(0, w.dtype) - one, one), (one, other))
        sides, (then, otherwise) = w.source.pick((one, limit), (limit, one)), w.source.pick(arms, arms[::-1])
        cond = Binary(w.source.pick("lt", "le", "gt", "ge"), sides[0], sides[1])
        place = w.place(w.written(), scope)
        store = Store(place.buffer, place.indices, Select(cond, then, otherwise))
        known = [Assume(Binary("ge", e, const(0, w.dtype))) for e in w.source.pick((), (one,), (one, other))]
        return seq(*known, store)

    return w.loop(Scope(), body) if w.source.flag() else body(Scope())


def chosen_terms(w: Writer) -> Stmt:
    """A sum or product over a loop, of terms that are neutral, or nearly so, in padding or unless a condition holds."""
    if w.source.flag():
        return _neutral_padding(w)
    var, extent = w.var("s"), w.source.integer(2, 5)
    scope, target = Scope().binding(var, 0, extent), w.place(w.written(), Scope())
    bound = w.source.integer(0, extent)

    def chosen(neutral: int) -> Expr:
        cond = w.source.pick(var < bound, var < bound, var >= bound, var < w.n, w.condition(scope, 1))
        other = const(w.source.pick(neutral, neutral, neutral, neutral + 1), w.dtype)
        return Select(cond, w.place(w.read(), scope), other)

    match w.source.pick("sum", "sum", "products", "factors", "maximum"):
        case "sum":
            value = Binary("add", target, chosen(0))
        case "products":
            value = Binary("add", target, Binary("mul", chosen(0), w.source.pick(chosen(0), w.place(w.read(), scope))))
        case "factors":
            value = Binary("mul", target, chosen(1))
        case _:
            value = Binary("max", target, chosen(0))
    return For(
        var,
        number(0),
        w.source.pick(number(extent), number(extent), w.n % extent),
        Store(target.buffer, target.indices, value),
    )


def _neutral_padding(w: Writer) -> Stmt:
    """A sum, product or maximum over elements that are stored or assumed to be neutral, or nearly so, from one on."""
    source, target, extent = w.read(), w.place(w.written(), Scope()), w.shape[-1]
    filled, var, valid = w.var("p"), w.var("s"), w.source.integer(0, extent)
    pad = const(w.source.pick(0, 0, 0, 1), w.dtype)
    if w.source.flag():
        source = Buffer("v0", (number(extent),), w.dtype)
        value = w.source.pick(_element(w.read(), filled), w.value(Scope().binding(filled, 0, extent), 1))
        fill: Stmt = If(filled < valid, Store(source, (filled,), value), Store(source, (filled,), pad))
    else:
        fill = Assume((filled < valid) | Binary("eq", _element(source, filled), pad))
    element = _element(source, var)
    term = w.source.pick(element, element, Binary("mul", element, w.place(w.read(), Scope().binding(var, 0, extent))))
    op: BinaryOp = w.source.pick(*_UPDATES)
    last = w.source.pick(extent, extent, valid)
    total = w.source.pick(Binary(op, target, term), Binary(op, target, term), Binary(op, term, target))
    add: Stmt = Store(target.buffer, target.indices, total)
    if last < extent:
        add = If(var < last, add, SKIP)
    both = seq(For(filled, number(0), number(extent), fill), For(var, number(0), number(extent), add))
    return Alloc(source, both) if source.name == "v0" else both


def tiles(w: Writer) -> Stmt:
    """A loop in tiles, of which the last may be a part of one, or nearly so: tiles may overlap or leave a gap."""
    source, target, length = w.read(), w.written(), w.shape[-1]
    outer, middle, inner = w.var("o"), w.var("q"), w.var("i")
    size = w.source.integer(1, length)
    begin: Expr = outer * size
    end: Expr = Binary("min", begin + w.source.pick(size, size, size, size + 1, size - 1), number(length))
    within = w.source.flag(2)  # places in a tile, else positions in the whole
    place = begin + inner if within else inner

    own = _element(target, w.source.pick(place, place, number(0), number(length - 1) - place))
    value = w.source.pick(_element(source, place), own + _element(source, place), own + _element(target, place))
    loop = For(inner, number(0) if within else begin, end - begin, Store(target, own.indices, value))
    if w.source.flag(2):
        loop = For(middle, number(0), number(2), loop)
    return For(outer, number(0), number(-(-length // size)), loop)


def remainders(w: Writer) -> Stmt:
    """A sum of which only the remainder is kept, or nearly so: in one place or carried along, started out of range."""
    w.dtype = w.source.pick(DType.INT32, DType.INT32, DType.INT8, DType.UINT8)
    source, target, length = w.read(), w.written(), w.shape[-1]
    var, again = w.var("i"), w.var("t")
    modulus = const(w.source.pick(3, 3, 5, 7, 30, 100, -3), w.dtype)
    carried, nested = w.source.flag(), w.source.flag(3)
    own = _element(target, var if carried else number(0))
    place = w.source.pick(var + 1, var + 1, var + 1, var, var + w.n % 2) if carried else number(0)
    term = w.source.pick(_element(source, var), _element(source, var), _element(w.read(), var), _element(target, var))
    total = w.source.pick(own + term, own + term, own - term, term - own, own + term + w.constant())
    if w.source.flag(4):
        wide = Binary("floormod", Cast(DType.INT64, own) + Cast(DType.INT64, term), Cast(DType.INT64, modulus))
        value: Expr = Cast(w.dtype, wide)
    else:
        value = Binary("floormod", total, modulus)
    step: Stmt = Store(target, _element(target, place).indices, value)
    if w.source.flag(4):
        step = If(w.condition(Scope().binding(var, 0, length - 1), 1), step, SKIP)
    if not carried and w.source.flag():  # it may be no remainder yet
        other = w.buffer("B" if target.name == "A" else "A")
        step = seq(Store(other, _element(other, var).indices, own), step)
    elif w.source.flag(3):
        step = seq(step, Store(target, _element(target, number(length - 1)).indices, own + w.source.pick(0, 1)))
    count = w.source.pick(number(length - 1), number(length - 1), w.n % length)
    loop = For(var, number(0), count, step)
    start = Store(target, _element(target, number(0)).indices, const(w.source.pick(0, 4, 9), w.dtype))
    body = For(again, number(0), number(2), loop) if nested else loop
    return seq(start, body) if w.source.flag(3) is False else body


def unrolled_by_hand(w: Writer) -> Stmt:
    """A loop with several places in each iteration, one after the other or nearly so, each by a statement or a term."""
    w.dtype = w.source.pick(w.dtype, DType.FLOAT32)
    source, target, length = w.read(), w.written(), w.shape[-1]
    var, count = w.var("i"), w.source.integer(2, 3)

    off, added, at_one_place = w.source.integer(0, 2), w.source.flag(), w.source.flag()
    places = [var * count + (k if w.source.flag(6) is False else off) for k in range(count)]
    terms = [_element(source, p) for p in places]
    if at_one_place and w.source.flag():
        own = _element(target, number(0))
        total = w.source.pick(own + terms[0] + terms[1], own + (terms[0] + terms[1]), terms[0] + terms[1])
        body: Stmt = Store(target, own.indices, total if count == 2 else own + (terms[0] + terms[1] + terms[2]))
    else:
        owns = [_element(target, number(0) if at_one_place else p) for p in places]
        values = [own + term if added else term for own, term in zip(owns, terms, strict=True)]
        body = seq(*(Store(target, own.indices, value) for own, value in zip(owns, values, strict=True)))
    return For(var, number(0), number(length // count), body)


def sums_apart(w: Writer) -> Stmt:
    """Several sums that count together, or nearly so: of another start, in another order, or read alone."""
    w.dtype = w.source.pick(DType.FLOAT32, DType.FLOAT32, w.dtype)
    source, target, var, again = w.read(), w.written(), w.var("i"), w.var("t")
    sums = [_element(Buffer(f"s{k}", (number(1),), w.dtype), number(0)) for k in range(w.source.integer(2, 3))]

    def start(k: int) -> Stmt:
        first = w.source.pick(0, 0, 0, 2) if k else w.source.pick(0, 1)
        return Store(sums[k].buffer, sums[k].indices, const(first, w.dtype))

    def step(k: int) -> Stmt:
        term = _element(source, w.source.pick(var, var, number(k % 2)))
        term = w.source.pick(term, term, term + w.constant(), term * sums[k] if w.source.flag(5) else term)
        return Store(sums[k].buffer, sums[k].indices, sums[k] + term)

    def steps(*which: int) -> Stmt:
        return For(var, number(0), number(w.shape[-1]), seq(*map(step, which)))

    every = range(len(sums))
    started = [start(k) for k in every]
    parts: list[Stmt] = w.source.pick(
        [*started, steps(*every)],
        [part for k in every for part in (started[k], steps(k))],
        [part for k in reversed(every) for part in (started[k], steps(*range(k)) if k else steps(0))],
    )
    total = sums[0] + sums[1] if len(sums) == 2 else w.source.pick(sums[0] + sums[1] + sums[2], sums[0] + sums[1])
    out = _element(target, w.source.pick(again, number(0)))
    read = Store(target, out.indices, w.source.pick(total, total, total * w.constant(), total + sums[0]))
    body = seq(*parts, read) if w.source.flag(4) is False else seq(read, *parts)
    body = For(again, number(0), number(2), body) if w.source.flag() else substitute(body, {again: number(1)})
    for element in sums:
        body = Alloc(element.buffer, body)
    return body


def totals(w: Writer) -> Stmt:
    """Two totals of the same terms, or nearly so: from another end, some of them twice, with a change in between."""
    source, size, var, outer = w.read(), w.shape[-1], w.var("i"), w.var("j")
    own = [Load(Buffer(f"s{k}", (number(1),), w.dtype), (number(0),)) for k in range(2)]
    op: BinaryOp = w.source.pick("add", "add", "max", "mul")
    limit, start = w.source.integer(1, size), w.constant()
    weight, bound = w.source.pick(const(1, w.dtype), const(1, w.dtype), w.constant()), w.source.integer(0, 3)

    def total(k: int) -> list[Stmt]:
        near = w.source.pick((var + 1) % size, var // 2, Binary("max", var - 1, number(0)), number(0))
        index = w.source.pick(var, var, number(size - 1) - var, near) if k else var
        term = Binary("mul", _element(source, index), weight)
        step: Stmt = Store(own[k].buffer, own[k].indices, Binary(op, own[k], term))
        if bound == 1:
            step = If(index < w.source.pick(limit, limit, size) if k else var < limit, step, SKIP)
        elif bound == 2:
            step = If(w.source.pick(*[_element(source, index) > const(0, w.dtype)] * 3, w.flag), step, SKIP)
        steps: Stmt = For(var, number(0), number(w.source.pick(size, size, size - 1)), step)
        if w.source.flag(3):
            tile = For(var, number(0), number(2), substitute(step, {var: Binary("add", outer * 2, var)}))
            steps = For(outer, number(0), number(size // 2), tile)
        first = start if w.source.flag(5) is False else w.constant()
        return [Store(own[k].buffer, own[k].indices, first), steps]

    parts = [*total(0), *total(1)]
    if w.source.flag(3):
        changed = w.source.pick(_element(w.written(), number(0)), *own)
        parts.insert(w.source.integer(1, len(parts)), Store(changed.buffer, changed.indices, w.constant()))
    out = _element(w.written(), number(0))
    body = seq(*parts, Store(out.buffer, out.indices, w.source.pick(own[0] + own[1], own[1] - own[0], own[1])))
    return Alloc(own[0].buffer, Alloc(own[1].buffer, body))


def packed(w: Writer) -> Stmt:
    """Rows of different lengths that follow one another in a local, or nearly so, stored and read again."""
    rows, flag = w.source.integer(2, 4), w.source.flag
    local = Buffer("t", (number(rows * (rows + 1) // 2 + w.source.integer(0, 2)),), w.dtype)

    def begins(row: Expr) -> Expr:
        nearby = row + w.source.pick(*[1] * 12, -1, 2, 3)
        product = w.source.pick(Binary("mul", row, nearby), Binary("mul", nearby, row))
        return Binary("floordiv", product, number(2)) if w.source.integer(0, 12) else product

    def nest(k: int) -> Stmt:
        row, column = w.var("i"), w.var("j")
        scope = Scope().binding(row, 0, rows).binding(column, 0, rows)
        other = w.source.pick(row, row, row, row + 1, number(rows - 1) - row)
        added = w.source.pick(column, column, column, other, other - column, column - 1)
        place = Load(local, (w.source.pick(Binary("add", begins(other), added), begins(other)),))
        step: Stmt = Store(local, place.indices, w.value(scope, 1))
        if k:
            own = _element(w.written(), w.source.pick(number(0), row % w.shape[-1]))
            step = Store(own.buffer, own.indices, w.source.pick(place, own + place))
        if flag(3):
            step = If(w.source.pick(Binary("le", column, row), w.condition(scope)), step, SKIP)
        count = w.source.pick(row + 1, row + 1, row, number(rows), w.source.pick(number(1), w.n % rows))
        return For(row, number(0), number(rows), For(column, number(0), count, step))

    return Alloc(local, seq(nest(0), *((nest(0),) if flag(3) else ()), nest(1)))


def partial_totals(w: Writer) -> Stmt:
    """Totals of tiles, or nearly so, which another total takes in, under conditions and with changes between."""
    w.dtype = w.source.pick(w.dtype, DType.FLOAT32)
    source, rows, flag = w.read(), w.source.pick(1, 2, 2, 3), w.source.flag
    local = Buffer("t", (number(rows),), w.dtype)
    op: BinaryOp = w.source.pick("add", "max", "min", "mul")
    row, var, other = w.var("i"), w.var("j"), w.var("k")
    scope = Scope().binding(row, 0, rows).binding(var, 0, w.shape[-1])
    own = Load(local, (w.source.pick(*[row] * 6, number(0)),))
    term = w.source.pick(_element(source, var), _element(source, (row * 2 + var) % w.shape[-1]), w.value(scope, 1))
    start = w.source.pick(*[const(0, w.dtype)] * 2, const(1, w.dtype), w.constant())
    step: Stmt = Store(local, own.indices, Binary(op, own, term))
    if flag(3):
        step = If(w.source.pick(Binary("le", var, row), w.condition(scope), term > const(0, w.dtype)), step, SKIP)
    count = w.source.pick(number(w.shape[-1]), number(w.shape[-1]), row + 1, w.n % w.shape[-1])
    inner: Stmt = For(var, number(0), w.source.pick(number(2), count) if w.shape[-1] > 1 else number(1), step)
    first: Stmt = Store(local, (row,), start)
    if flag():
        made: list[Stmt] = [For(row, number(0), number(rows), seq(first, inner))]
    else:
        fewer = number(w.source.pick(rows, rows, rows - 1))
        made = [For(row, number(0), number(rows), first), For(row, number(0), fewer, inner)]
    total = _element(w.written(), number(0))
    taken = Load(local, (w.source.pick(other, other, other, number(rows - 1) - other, number(0)),))
    last: Stmt = Store(total.buffer, total.indices, Binary(w.source.pick(op, op, op, "add"), total, taken))
    if flag(4):
        last = If(w.condition(Scope().binding(other, 0, rows)), last, SKIP)
    between = [w.store(Scope())] if flag(4) else []
    between += [Store(total.buffer, total.indices, w.source.pick(start, w.constant()))] if flag() else []
    return Alloc(local, seq(*made, *between, For(other, number(0), number(rows), last)))
