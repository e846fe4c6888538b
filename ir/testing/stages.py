"""The stages of random programs: nests as layouts, tiles, blocks, borders and reductions make them."""

from __future__ import annotations

from hypothesis import strategies as st

from ir.testing.writer import Scope, Writer, converted


def assumption(w: Writer, buffer: str) -> None:
    """What a buffer holds: a value in its padding, or the same in two neighbours at a border."""
    shape, dtype = w.buffers[buffer], w.dtypes[buffer]
    if w.pick(False, False, False, True) and shape[-1] > 1:
        rest = ", ".join(["0"] * (len(shape) - 1))
        first, second = w.pick((0, 1), (shape[-1] - 1, shape[-1] - 2), (0, shape[-1] - 1))
        before = f"{rest}, " if rest else ""
        w.emit(0, f"T.assume({buffer}[{before}{first}] == {buffer}[{before}{second}])")
        return
    _, here, flat, size = _nest(w, buffer)
    valid = w.pick(0, 1, max(size - 1, 0), max(size - 2, 0))
    known = w.pick(w.number(dtype), w.number(dtype), "T.undef()")
    form = w.pick(f"{flat} < {valid} or {here} == {known}", f"{here} == {known} or not ({flat} >= {valid})")
    w.emit(1, f"T.assume({form})")


def stage(w: Writer) -> None:
    """One more stage."""
    layouts = (_padded, _padded, _reduction, _tiled, _blocked, _positions, _guarded, _equation, _selection, _bordered)
    w.pick(*layouts, _padded, *[_any] * 10)(w)


def _any(w: Writer) -> None:
    w.statement(0, {}, 3)


def _nest(w: Writer, buffer: str) -> tuple[Scope, str, str, int]:
    """A nest over all of a buffer: its scope, the element, the place in the logical order, how many there are."""
    shape = w.buffers[buffer]
    names = [w.name("io" if k + 1 < len(shape) else "ii") for k in range(len(shape))]
    w.emit(0, f"for {', '.join(names)} in T.grid({', '.join(map(str, shape))}):")
    flat, size = names[-1], shape[-1]
    if len(shape) > 1:  # the last two axes are one logical axis, as after a split
        flat, size = f"{shape[-1]} * {names[-2]} + {names[-1]}", shape[-2] * shape[-1]
    scope = {v: (0, n) for v, n in zip(names, shape, strict=True)}
    return scope, f"{buffer}[{', '.join(names)}]", flat, size


def _stored(w: Writer, depth: int, here: str, dtype: str, scope: Scope) -> None:
    """A store to an element, or an update of it."""
    value = w.value(scope, dtype)
    w.emit(depth, f"{here} = {w.pick(value, value, w.updated(here, dtype, value))}")


def _padded(w: Writer) -> None:
    """A nest over a buffer, guarded in the way layouts are."""
    buffer = w.pick(*w.writable)
    dtype = w.dtypes[buffer]
    scope, here, flat, size = _nest(w, buffer)
    valid = w.pick(*{max(v, 0) for v in (1, size - 1, size - 2, size)})
    kind = w.pick("if", "if", "all", "else", "block", "block")
    if kind == "all":
        w.emit(1, f"{here} = {w.value(scope, dtype)}")
        return
    if kind == "block":
        w.emit(1, f'with T.block("{w.name("stage")}"):')
        axes = {v: w.name("v") for v in scope}
        for v, axis in axes.items():
            w.emit(2, f"{axis} = T.axis.spatial({scope[v][1]}, {v})")
        w.emit(2, f"T.where({flat} {w.pick('<', '<', '>=')} {valid})")
        inner = {axis: scope[v] for v, axis in axes.items()}
        w.emit(2, f"{buffer}[{', '.join(axes.values())}] = {w.value(inner, dtype)}")
        return
    w.emit(1, f"if {flat} {w.pick('<', '<', '>=')} {valid}:")
    store = w.pick(f"{here} = {w.number(dtype)}", f"{here} = {w.value(scope, dtype)}", f"{here} = T.undef()", "other")
    if store == "other":
        w.block(2, scope, 1)
    else:
        w.emit(2, store)
    if kind == "else":
        w.emit(1, "else:")
        w.emit(2, f"{here} = {w.pick(w.number(dtype), w.value(scope, dtype), 'T.undef()')}")


def _reduction(w: Writer) -> None:
    """A sum or extremum of one buffer along its last axes into elements of another, over the valid part."""
    target = w.pick(*w.writable)
    source = w.pick(*[b for b in w.buffers if b != target])
    dtype, inner = w.dtypes[target], w.buffers[source]
    row, here = _row_of(w, target)
    names = [w.name("k") for _ in inner]
    w.emit(1, f"for {', '.join(names)} in T.grid({', '.join(map(str, inner))}):")
    flat, size = names[-1], inner[-1]
    if len(inner) > 1:
        flat, size = f"{inner[-1]} * {names[-2]} + {names[-1]}", inner[-2] * inner[-1]
    depth = 2
    if w.pick(True, True, False):
        w.emit(depth, f"if {flat} < {w.pick(*{1, max(size - 1, 0), max(size - 2, 0)})}:")
        depth += 1
    first = f"{row} % {inner[0]}" if len(inner) > 1 and w.pick(True, False) else names[0]
    element = converted(f"{source}[{', '.join([first, *names[1:]])}]", w.dtypes[source], dtype)
    if dtype != "bool":
        weight = w.value({v: (0, n) for v, n in zip(names, inner, strict=True)}, dtype, 1)
        element = w.pick(element, element, f"{element} * {w.number(dtype)}", f"{element} * {weight}")
        if w.pick(*[False] * 6, True):
            once = w.pick("1", "2", "1")
            element = f"{once}.0" if dtype[0] == "f" else f"T.{dtype}({once})"
            w.emit(depth, f"{here} = {here} * {element}")
            return
    w.emit(depth, f"{here} = {w.updated(here, dtype, element)}")


def _row_of(w: Writer, target: str) -> tuple[str, str]:
    """A loop over the first axis of a buffer, in which one element of each row starts as a number: both as written."""
    row = w.name("r")
    rest = [str(k) for k in (w.pick(0, n - 1) for n in w.buffers[target][1:])]
    here = f"{target}[{', '.join([row, *rest])}]"
    w.emit(0, f"for {row} in T.serial({w.buffers[target][0]}):")
    w.emit(1, f"{here} = {w.number(w.dtypes[target])}")
    return row, here


def _equation(w: Writer) -> None:
    """A reduction over the solutions of an equation, or of an inequality, between its loops and the row."""
    target = w.pick(*w.writable)
    row, here = _row_of(w, target)
    i, k = w.name("k"), w.name("k")
    counts = w.pick(1, 3, 4), w.pick(2, 3)
    w.emit(1, f"for {i}, {k} in T.grid({counts[0]}, {counts[1]}):")
    sides = f"{w.pick(1, 2, 3, -1)} * {i} + {w.pick(1, 2, -1)} * {k} + {w.pick(0, 1, -2, 3)}"
    bound = w.pick("", "", f" and {k} < {w.pick(1, 2)}")
    w.emit(2, f"if {sides} {w.pick('==', '==', '>=', '<')} {row}{bound}:")
    scope = {row: (0, w.buffers[target][0]), i: (0, counts[0]), k: (0, counts[1])}
    dtype = w.dtypes[target]
    w.emit(3, f"{here} = {w.updated(here, dtype, w.value(scope, dtype, 1))}")


def _tiled(w: Writer) -> None:
    """A nest over tiles of a buffer, in any order of its loops, guarded where the tiles do not come out even."""
    buffer = w.pick(*w.writable)
    shape = w.buffers[buffer]
    loops: list[tuple[str, int]] = []
    places: dict[str, int] = {}
    for extent in shape:
        size = w.pick(1, 2, 3)
        outer, inner = w.name("to"), w.name("ti")
        loops += [(outer, -(-extent // size)), (inner, size)]
        places[f"({size} * {outer} + {inner})"] = extent
    loops = w.draw(st.permutations(loops))
    w.emit(0, f"for {', '.join(v for v, _ in loops)} in T.grid({', '.join(str(n) for _, n in loops)}):")
    valid = [extent - w.pick(0, 0, 1) for extent in shape]
    w.emit(1, f"if {' and '.join(f'{p} < {n}' for p, n in zip(places, valid, strict=True))}:")
    _stored(w, 2, f"{buffer}[{', '.join(places)}]", w.dtypes[buffer], {p: (0, n) for p, n in places.items()})


def _blocked(w: Writer) -> None:
    """A copy of a buffer whose last axis is in blocks, and a nest that reads it."""
    source, target = w.pick(*w.buffers), w.pick(*w.writable)
    *rows, extent = w.buffers[source]
    size = w.pick(2, 3)
    packed = w.local((*rows, -(-extent // size), size), w.dtypes[source])
    scope, here, _, _ = _nest(w, source)
    last = [*scope][-1]
    at = ", ".join([*[*scope][:-1], f"{last} // {size}", f"{last} % {size}"])
    w.emit(1, f"{packed}[{at}] = {w.pick(here, here, w.value(scope, w.dtypes[source], 1))}")
    scope, here, _, _ = _nest(w, target)
    last = [*scope][-1]
    outer = [w.index(n, scope) for n in rows]
    element = f"{packed}[{', '.join([*outer, f'{last} // {size}', f'{last} % {size}'])}]"
    if scope[last][1] > extent:
        element = f"{packed}[{', '.join([*outer, '0', w.pick('0', f'{last} % {size}') if extent >= size else '0'])}]"
    element = converted(element, w.dtypes[source], w.dtypes[target])
    w.emit(1, f"{here} = {w.pick(element, w.updated(here, w.dtypes[target], element))}")


def _positions(w: Writer) -> None:
    """A reduction over positions in blocks that lie across the axes of a buffer, at times after stores beyond its end,
    which none is."""
    target = w.pick(*w.writable)
    sources = [b for b, shape in w.buffers.items() if b != target and len(shape) == 2]
    if not sources:
        _reduction(w)
        return
    source = w.pick(*sources)
    n, m = w.buffers[source]
    if source in w.writable and w.pick(True, False):
        i, o = w.name("ii"), w.name("io")
        w.emit(0, f"for {i}, {o} in T.grid({n}, {m}):")
        w.emit(1, f"if {n} * {o} + {i} >= {n * m}:")
        w.emit(2, f"{source}[{i}, {o}] = {w.number(w.dtypes[source])}")
    _, here = _row_of(w, target)
    p = w.name("p")
    w.emit(1, f"for {p} in range({n * m}):")
    at = w.pick(p, f"({n * m - 1} - {p})")
    element = converted(f"{source}[{at} % {n}, {at} // {n}]", w.dtypes[source], w.dtypes[target])
    w.emit(2, f"{here} = {w.updated(here, w.dtypes[target], element)}")


def _guarded(w: Writer) -> None:
    """A nest in which an index leaves its buffer, under a guard that keeps it inside."""
    target, source = w.pick(*w.writable), w.pick(*w.buffers)
    scope, here, _, _ = _nest(w, target)
    k, count = w.name("k"), w.pick(1, 2, 3)
    w.emit(1, f"for {k} in range({count}):")
    extent = w.buffers[source][-1]
    last = [*scope][-1]
    at = w.pick(f"({last} + {k} - 1)", f"({last} - {k})", f"(2 * {last} + {k} - 1)", f"({k} - {last})")
    guard = w.pick(f"{at} >= 0 and {at} < {extent}", f"0 <= {at} < {extent}", f"not ({at} < 0 or {at} >= {extent})")
    inner = {**scope, k: (0, count)}
    indices = [*(w.index(n, inner) for n in w.buffers[source][:-1]), at]
    dtype = w.dtypes[target]
    element = converted(f"{source}[{', '.join(indices)}]", w.dtypes[source], dtype)
    if w.pick(True, True, False):
        w.emit(2, f"if {guard}:")
        w.emit(3, f"{here} = {w.updated(here, dtype, element)}")
    else:
        choice = f'T.if_then_else({guard}, {element}, T.cast({w.number(dtype)}, "{dtype}"))'
        w.emit(2, f"{here} = {w.updated(here, dtype, choice)}")


def _selection(w: Writer) -> None:
    """A nest over a buffer with a chain of conditions, of which some look at what it stores."""
    buffer = w.pick(*w.writable)
    dtype = w.dtypes[buffer]
    scope, here, _, _ = _nest(w, buffer)
    own = here if dtype == "bool" else f"{here} > {w.number(dtype)}"
    own = own if buffer in w.readable else w.order(scope)
    w.emit(1, f"if {w.pick(own, w.condition(scope))}:")
    _stored(w, 2, here, dtype, scope)
    if w.pick(True, False):
        w.emit(1, f"elif {w.pick(own, w.condition(scope))}:")
        _stored(w, 2, here, dtype, scope)
    w.emit(1, "else:")
    _stored(w, 2, here, dtype, scope)


def _bordered(w: Writer) -> None:
    """A nest over a buffer whose terms are clamped at its border, wrapped around or in groups."""
    buffer = w.pick(*w.writable)
    scope, here, _, _ = _nest(w, buffer)
    terms = dict(scope)
    for v, (_, extent) in scope.items():
        last = extent - 1
        options = [f"T.max({v} - 1, 0)", f"T.min({v} + 1, {last})", f"({v} + {last}) % {extent}", f"{v} // 2"]
        terms[w.pick(*options, f"{v} // 2 * 2", f"T.min({v} // 2 + 1, {last})")] = (0, extent)
    _stored(w, 1, here, w.dtypes[buffer], terms)
