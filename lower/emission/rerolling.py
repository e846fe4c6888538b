"""Texts that differ in numbers only, as one text in a Python loop over those numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from lower.emission.scope import Names

_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_Range = tuple[int, int]


def folded(texts: Sequence[Sequence[str]], ranges: Sequence[_Range], indent: str, names: Names) -> list[str]:
    """The lines of all texts, of which each is for one of the ranges: neighbours that are alike become a loop.

    `indent` is that of the texts' outermost lines. Numbers that differ are written in terms of where ranges begin and
    end, or become variables of the loop.
    """
    result: list[str] = []
    each = zip(texts, ranges, strict=True)
    for _, group in groupby(each, key=lambda t: _NUMBER.sub("0", "\n".join(t[0]))):
        alike = list(group)
        if len(alike) == 1:
            result += alike[0][0]
        else:
            result += _loop([t for t, _ in alike], [r for _, r in alike], indent, names)
    return result


def _loop(texts: Sequence[Sequence[str]], ranges: Sequence[_Range], indent: str, names: Names) -> list[str]:
    """Texts that are alike as one in a loop."""
    joined = ["\n".join(text) for text in texts]
    numbers = zip(*([int(m.group()) for m in _NUMBER.finditer(text)] for text in joined), strict=True)
    start, stop = (_unused(wish, joined, names) for wish in ("start", "stop"))
    columns = {start: tuple(r[0] for r in ranges), stop: tuple(r[1] for r in ranges)}
    known: dict[tuple[int, ...], str] = {}
    pieces: list[str] = []
    at = 0
    for match, values in zip(_NUMBER.finditer(joined[0]), numbers, strict=True):
        if len(set(values)) == 1:
            continue
        if values not in known:
            code = next(_forms(values, columns[start], columns[stop], start, stop), None)
            if code is None:
                code = _unused("size", joined, names)
                columns[code] = values
            known[values] = code
        alone = joined[0][: match.start()].rstrip(" ")[-1] in "([,:" and joined[0][match.end()] in "),]:"
        pieces += [joined[0][at : match.start()], _enclosed(known[values], alone)]
        at = match.end()
    body = "".join([*pieces, joined[0][at:]]).split("\n")
    used = {name: values for name, values in columns.items() if any(re.search(rf"\b{name}\b", b) for b in body)}
    if not used:  # they are the same, or there are none
        return [line for text in texts for line in text]
    rows = ", ".join(str(row[0] if len(used) == 1 else row) for row in zip(*used.values(), strict=True))
    head = f"{indent}for {', '.join(used)} in ({rows}):"
    return [head, *(f"    {line}" if line else line for line in body)]


def _unused(wish: str, texts: Sequence[str], names: Names) -> str:
    """A new name that texts do not have either."""
    name = names.fresh(wish)
    while any(re.search(rf"\b{name}\b", text) for text in texts):
        name = names.fresh(wish)
    return name


def _enclosed(code: str, alone: bool) -> str:
    return code if alone or code.isidentifier() else f"({code})"


def _forms(values: Sequence[int], starts: Sequence[int], stops: Sequence[int], start: str, stop: str) -> Iterator[str]:
    """Ways to write values in terms of the ranges' ends, short ones first."""
    lengths = [b - a for a, b in zip(starts, stops, strict=True)]
    known = ((stop, stops), (start, starts), (f"{stop} - {start}", lengths))
    yield from (code for code, ends in known if list(values) == list(ends))
    for code, ends in known:
        step = ends[1] - ends[0]
        if step == 0 or (values[1] - values[0]) % step:
            continue
        factor = (values[1] - values[0]) // step
        rest = values[0] - factor * ends[0]
        if all(v == factor * e + rest for v, e in zip(values, ends, strict=True)):
            yield _affine(factor, code, rest)


def _affine(factor: int, code: str, rest: int) -> str:
    """`factor * code + rest`."""
    inner = code if code.isidentifier() or factor == 1 else f"({code})"
    if factor < 0:
        return f"{rest} - {inner}" if factor == -1 else f"{rest} - {-factor} * {inner}"
    term = inner if factor == 1 else f"{factor} * {inner}"
    if rest == 0:
        return term
    return f"{term} {'+' if rest > 0 else '-'} {abs(rest)}"
