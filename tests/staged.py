"""Hypothesis strategy for staged programs: a producer of a local buffer, and what follows it in many styles.

Indices are in bounds by construction: reduced modulo the extent, shifted where that fits, or under a condition.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from ir import PrimFunc, parse


@dataclass(frozen=True)
class Staged:
    """A program, and its loops in the producer and in the consumers."""

    func: PrimFunc = field(repr=False)
    text: str
    producer_loops: tuple[str, ...]
    consumer_loops: tuple[str, ...]


class _Draw:
    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1  # shrinks to False


def _indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _nest(loops: list[tuple[str, str]], body: list[str]) -> list[str]:
    for var, bounds in reversed(loops):
        body = [f"for {var} in T.serial({bounds}):", *_indent(body)]
    return body


def _block(name: str, head: list[str], body: list[str]) -> list[str]:
    return [f'with T.block("{name}"):', *_indent([*head, *body])]


def _producer(d: _Draw, rows: int, cols: int, elementwise: bool) -> tuple[list[str], tuple[str, ...]]:
    """A nest that stores to B[rows, cols], and its loops."""
    start = d.pick(0, 0, 1, -2)
    style = d.pick("axes", "axes", "plain", "around", "inside")
    reduce = d.chance(4)
    scan = not reduce and d.chance(8)
    guard = d.pick(
        "", "", "", "", f"p0 % 2 == {abs(start) % 2}", f"p1 < {max(cols - 1, 1)}", "p1 + p0 < 5", "A[p1] > 0"
    )
    swap = d.chance(4)
    i, j = ("v0", "v1") if style == "axes" else (f"(p0 - ({start}))" if start else "p0", "p1")
    rowed = f"{rows - 1} - ({i})" if d.chance(5) else i
    value = d.pick(f"A[({i} + {j}) % 9] + {i}", f"A[{j}] * 2", f"A[({i} * 3 + {j}) % 9]", "7")
    value += d.pick("", "", " + T.if_then_else(p1 > 1, A[0], 1)" if style != "axes" else "")
    target = f"B[{rowed}, {j}]"
    loops = [("p0", f"{start}, {start + rows}" if start else f"{rows}"), ("p1", f"{cols}")]
    if swap:
        loops.reverse()
    names = tuple(v for v, _ in loops)
    if scan:
        body = [f"{target} = {value} + T.if_then_else({j} > 0, B[{rowed}, {j} - 1], 0)"]
    elif reduce and style != "axes":
        inner = _nest([("k", f"{d.pick(0, 1, 3)}")], [f"{target} = {target} + A[({j} + k) % 9]"])
        body = [*([] if d.chance(4) else [f"{target} = 0"]), *inner]
        names = (*names, "k")
    else:
        body = [f"{target} = {value}"]
    if style == "axes":
        where = f"p0 - ({start})" if start else "p0"
        head = [f"v0 = T.axis.spatial({rows}, {where})", f"v1 = T.axis.spatial({cols}, p1)"]
        if reduce:
            head.append("vk = T.axis.reduce(3, k)")
            body = ["with T.init():", f"    {target} = 1", f"{target} = {target} + A[({j} + vk) % 9]"]
            loops.append(("k", "3"))
            names = (*names, "k")
        if guard and guard[0] == "p":
            head.append(f"T.where({guard})")
            guard = ""
        body = _block("P", head, body)
    if guard:
        body = [f"if {guard}:", *_indent(body)]
    if style == "inside":
        body = _block("P", [], body)
    body = _nest(loops, body)
    return (_block("P", [], body) if style in ("around", "plain") else body), names


def _consumer(
    d: _Draw, rows: int, cols: int, name: str, mark: str, elementwise: bool
) -> tuple[list[str], tuple[str, ...]]:
    """A nest that loads B, and its loops."""
    style = d.pick("axes", "plain", "plain", "around", "inside", "split")
    start = d.pick(0, 0, 0, 1, -1)
    c0, c1 = f"{mark}0", f"{mark}1"
    outer, inner = d.pick(rows, rows, rows, 0, 1, 3), d.pick(cols, cols, 1, 2)
    loops = [(c0, f"{start}, {start + outer}" if start else f"{outer}"), (c1, f"{inner}")]
    names: tuple[str, ...] = (c0, c1)
    i, j = (f"({c0} - ({start}))" if start else c0), c1
    guard = d.pick("", "", "", f"{c0} + {c1} < 4", f"{c0} % 2 == 0", "A[0] > 0")
    if style == "split":
        factor = d.pick(2, 3, cols)
        fused = f"({c0} * {factor} + {c1})"
        i, j, guard = f"({fused} // {cols})", f"({fused} % {cols})", f"{fused} < {rows * cols}"
        loops = [(c0, f"{-(-rows * cols // factor)}"), (c1, f"{factor}")]
        outer, inner = rows, cols
    head: list[str] = []
    if style == "axes":
        head = [f"u0 = T.axis.spatial({max(outer, 1)}, {i})", f"u1 = T.axis.spatial({inner}, {c1})"]
        i, j = "u0", "u1"
    plain = outer <= rows and inner <= cols
    ways = [
        f"B[({i} + 1) % {rows}, {j} % {cols}]",
        f"B[({i} * 2 + {j}) % {rows}, ({j} + 1) % {cols}]",
        f"B[0, {cols - 1}]",
    ]
    ways += [f"T.if_then_else({i} >= 1 and {i} <= {rows}, B[{i} - 1, {j} % {cols}], 0)"]
    ways += [f"B[{i}, {j}]", f"B[{i}, {j}]", f"B[{rows - 1} - {i}, {j}]"] * plain
    read = d.pick(*ways)
    if elementwise:
        read = d.pick(*ways[-3:])
        guard = guard if d.chance(4) or style == "split" else ""
    elif d.chance(3):
        read += d.pick(" + ", " * ") + d.pick(*ways)
    target = f"C[({i}) * {max(inner, 1)} + {j}]"
    kind = d.pick("store", "store", "store", "sum", "in place", "branch")
    kind = d.pick("store", "store", "in place") if elementwise else kind
    if kind == "sum":
        body = [f"D[({i}) % 5] = D[({i}) % 5] + {read}"]
    elif kind == "in place":
        body = [f"A[{j} % 9] = {read}"]
    elif kind == "branch":
        body = [f"if {c0} > 0:", f"    {target} = {read}", "else:", f"    {target} = 3"]
    else:
        body = [f"{target} = {read} + A[{j} % 9]" if d.chance(3) else f"{target} = {read}"]
    if guard:
        body = [f"if {guard}:", *_indent(body)] if style != "axes" or "A" in guard else body
        head += [f"T.where({guard})"] if style == "axes" and "A" not in guard else []
    if style in ("axes", "inside"):
        body = _block(name, head, body)
    body = _nest(loops, body)
    return (body if style in ("axes", "inside") else _block(name, [], body)), names


@st.composite
def staged_programs(draw: st.DrawFn, elementwise: bool = False) -> Staged:
    """A producer block `P` of local B, a consumer `Q`, at times a second one `R`, things between, a loop around all.

    With `elementwise` the consumer is mostly one store that reads one element.
    """
    d = _Draw(draw)
    rows, cols = d.pick(3, 4, 2, 1), d.pick(4, 3, 1)
    producer, own = _producer(d, rows, cols, elementwise)
    consumer, names = _consumer(d, rows, cols, "Q", "c", elementwise)
    lines = [*producer]
    if d.chance(5):
        lines.append(d.pick("A[0] = 5", "A[8] = A[0] + 1", "D[0] = 2", "T.assume(A[1] > -100)"))
    lines += consumer
    if d.chance(10 if elementwise else 5):
        second, more = _consumer(d, rows, cols, "R", "r", elementwise)
        lines += second
        names = (*names, *more)
    alloc = f'B = T.alloc_buffer(({rows}, {cols}), "int32")'
    around = d.pick(0, 0, 0, 0, 1, 2)
    if around:
        lines = [*_nest([("t", f"{d.pick(2, 3)}")], [*([alloc] if around == 1 else []), *lines])]
    if around != 1:
        lines = [alloc, *lines]
    params = 'A: T.Buffer((9,), "int32"), C: T.Buffer((32,), "int32"), D: T.Buffer((5,), "int32")'
    text = "\n".join(["@T.prim_func", f"def f({params}):", *_indent(lines)]) + "\n"
    return Staged(parse(text).funcs[0], text, own, names)
