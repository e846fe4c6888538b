"""Programs next to those of the examples: one token dropped, swapped, negated or reindexed.

Mutants of real programs reach forms of the lowering that random programs rarely do, with one thing about them changed.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from ir import PrimFunc, parse
from ir.errors import LoopsatError
from ir.semantics.specialize import specialize
from ir.semantics.verify import verify
from ir.traverse import free_vars

EXAMPLES = Path(__file__).parent.parent / "examples"
_START = re.compile(r"^@T\.prim_func\ndef ", re.MULTILINE)
SOURCES = sorted(p for p in EXAMPLES.rglob("*.py") if _START.search(p.read_text()))
_OTHERS = {
    "+": "-", "-": "+", "*": "+", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "min": "max", "max": "min",
    "//": "%", "%": "//", "and": "or", "or": "and",
}  # fmt: skip
_TOKEN = re.compile(r"\b\d+\b(?!\.)|\b[A-Za-z_]\w*\b|//|<=|>=|==|[-+*<>%]")
_INDEX = re.compile(r"\[([^\[\]]+)\]")


def mutant(text: str, rng: random.Random) -> PrimFunc | None:
    """One function of a script with something changed in its body; None where that is no program any more."""
    functions = [m.start() for m in _START.finditer(text)]
    start = rng.choice(functions)
    head, body = text[start:].split("):\n", 1)
    lines = body.split("\n\n\n")[0].split("\n")
    for _ in range(rng.choice((1, 1, 2))):
        lines = rng.choice((_dropped, _swapped, _token, _token, _reindexed, _reindexed))(lines, rng)
    before = text[: functions[0]].replace("from ir import script as T", "")
    definitions = "\n\n".join(re.findall(r"^@T\.function.*?(?=\n\n\n)", before, re.MULTILINE | re.DOTALL))
    new = f"{definitions}\n\n\n{head}):\n" + "\n".join(lines) + "\n"
    try:
        func = parse(new).funcs[-1]
        verify(func)
    except (LoopsatError, RecursionError):
        return None
    return func


def small(func: PrimFunc, rng: random.Random) -> PrimFunc | None:
    """A function with small numbers for its sizes; None where these are no sizes of it."""
    sizes = {v for b in func.buffers for e in b.shape for v in free_vars(e)}
    try:
        new = specialize(func, {v.name: rng.randint(1, 7) for v in sizes})
        verify(new)
    except LoopsatError:
        return None
    return new


def _dropped(lines: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(len(lines))
    return [*lines[:at], *lines[at + 1 :]]


def _swapped(lines: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(max(len(lines) - 1, 1))
    return [*lines[:at], *reversed(lines[at : at + 2]), *lines[at + 2 :]]


def _token(lines: list[str], rng: random.Random) -> list[str]:
    places = [(k, m) for k, line in enumerate(lines) for m in _TOKEN.finditer(line)]
    places = [(k, m) for k, m in places if m[0] in _OTHERS or m[0].isdecimal()]
    if not places:
        return lines
    at, found = rng.choice(places)
    new = str(max(int(found[0]) + rng.choice((-1, 1, 2)), 0)) if found[0].isdecimal() else _OTHERS[found[0]]
    line = lines[at]
    return [*lines[:at], line[: found.start()] + new + line[found.end() :], *lines[at + 1 :]]


def _reindexed(lines: list[str], rng: random.Random) -> list[str]:
    """Exchange, shift or reuse the indices of an access."""
    places = [(k, m) for k, line in enumerate(lines) for m in _INDEX.finditer(line)]
    if not places:
        return lines
    at, found = rng.choice(places)
    indices = [i.strip() for i in found[1].split(",")]
    k = rng.randrange(len(indices))
    names = sorted({n for line in lines for m in re.finditer(r"for ([\w, ]+) in", line) for n in m[1].split(", ")})
    match rng.choice(("exchange", "shift", "name")):
        case "exchange":
            rng.shuffle(indices)
        case "shift":
            indices[k] = f"{indices[k]} {rng.choice('+-')} 1"
        case _ if names:
            indices[k] = rng.choice(names)
        case _:
            pass
    line = lines[at]
    return [*lines[:at], f"{line[: found.start()]}[{', '.join(indices)}]{line[found.end() :]}", *lines[at + 1 :]]
