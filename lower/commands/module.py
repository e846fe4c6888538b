"""`loopsat optimize` with layouts: `--layouts`, `--graph`, `--free` and `--maps` ask for those between functions and
between stages of a function.

Without them a module is optimized as the one function that its calls, put in place, make.
"""

from __future__ import annotations

import argparse
import ast
import json
from pathlib import Path
from typing import Any

import numpy as np

from egraph_rules.modules.result import ModuleResult
from egraph_rules.modules.stages import staged
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.nodes import Module, PrimFunc, Var
from ir.presburger.index_map import IndexMap
from ir.program.calls import calls_in
from ir.program.modules import entry_of
from ir.script.parser import parse_expr
from ir.semantics.inputs import Inputs, random_inputs
from ir.semantics.verify import entered
from lower import compile, emit, export, stablehlo_text
from lower.check.kernels import compare, insist, kernel_results, reference
from lower.commands.cli import budget_of, floats_of, load_module, lowering_of, write_atomically
from lower.commands.console import console, waiting
from lower.commands.page import Page
from lower.commands.scripts import register_rules
from lower.runtime.calibration import stored
from lower.runtime.searched import optimize

_MAP = "as in --maps 'H: i, j -> i // 4, j, i % 4'"
_OF_KERNELS = ("tune", "variants", "html", "donate", "sizes")  # what only the search over one function can do


def wanted(options: argparse.Namespace) -> bool:
    """Whether the options ask for layouts."""
    return bool(options.layouts or options.graph is not None or options.free or options.maps)


def run(options: argparse.Namespace) -> None:
    """Do what the options ask.

    Raises:
        LoopsatError: the script, the module, an option or an output path is at fault.
    """
    given = {"--graph": options.graph is not None, "--free": options.free, "--maps": options.maps, "--layouts": True}
    asked = next(name for name, there in given.items() if there)
    for name in _OF_KERNELS:
        if getattr(options, name):
            message = f"{asked} is about all of a module, and --{name} about one function"
            raise LoopsatError("options", message, help="leave one of them out")
    if options.emit == "form":
        raise LoopsatError("options", f"{asked} has no --emit form", help="use --emit ir, jax or stablehlo")
    if options.json and (options.emit is not None or options.output is not None):
        raise LoopsatError("options", "--json prints all forms of the result", help="leave out --emit and -o")
    path, module, name = load_module(options.script)
    if options.graph is not None and options.graph == options.output:
        raise LoopsatError("options", "--graph and -o name the same file", help="choose another one")
    entry = entry_of(module, *([name] if name else []))
    if next(calls_in(staged(entry, alone=bool(options.free or options.maps)).body), None) is None:
        message = f"{entry.name} neither calls functions nor has several stages"
        raise LoopsatError(
            "options", message, entry.span, help=f"leave out {asked}, which is about what lies between them"
        )
    free = [part.strip() for text in options.free for part in text.split(",") if part.strip()]
    maps = _maps(options.maps)
    register_rules(options.rules)
    prices = stored(options.target)
    with waiting("searching"):
        result = optimize(
            module, prices.target, budget=budget_of(options), floats=floats_of(options), without=options.without,
            entry=entry.name, free=free, maps=maps,
        )  # fmt: skip
    if options.graph is not None:
        write_atomically(options.graph, result.report.dot().encode(), path)
    form = options.emit or ("jax" if options.output is not None else None)
    if options.json:
        print(json.dumps(_described(options, result), indent=1))
    elif form is not None:
        _emit(options, path, result, form)
    else:
        _show(options, module, entry, result)


def _maps(texts: list[str]) -> dict[str, list[IndexMap]]:
    """Index maps by buffer, from texts such as `H: i, j -> i // 4, j, i % 4`."""
    found: dict[str, list[IndexMap]] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        left, arrow, right = rest.partition("->")
        names = [part.strip() for part in left.split(",")]
        if not (colon and arrow and name.strip().isidentifier() and all(n.isidentifier() for n in names)):
            raise LoopsatError("maps", f"`{text}` is no buffer with a map of its indices", help=_MAP)
        try:
            results = ast.parse(f"({right.strip()},)", mode="eval").body
        except SyntaxError as error:
            message = f"`{right.strip()}` in `{text}` is no list of indices: {error.msg}"
            raise LoopsatError("maps", message, help=_MAP) from error
        assert isinstance(results, ast.Tuple)
        parts = [parse_expr(ast.unparse(e), dict.fromkeys(names, "int32")) for e in results.elts]
        params = tuple(Var(n, DType.INT32) for n in names)
        found.setdefault(name.strip(), []).append(IndexMap(params, tuple(parts)))
    return found


def _described(options: argparse.Namespace, result: ModuleResult) -> dict[str, object]:
    """All that was found, but nothing that takes a run."""
    report = result.report
    return {
        "entry": result.entry,
        "cost": result.cost,
        "cost_before": result.cost_before,
        "module": str(result.best),
        "layouts": {n: {"map": str(b.index_map), "kept": str(b.storage)} for n, b in result.layouts.items()},
        "stay": dict(report.graph.fixed),
        "calls": [
            {
                "function": call.name,
                "price": variant.price,
                "takes": {p: f"{b}, {variant.storages[p]}" for p, b in call.buffers},
            }
            for call, variant in zip(report.graph.calls, report.choice.variants, strict=True)
        ],
        "conversions": [
            {"buffer": c.buffer, "from": str(c.before), "to": str(c.after), "price": c.price}
            for c in report.choice.conversions
        ],
        "openings": [{"buffer": o.buffer, "kept": str(o.storage), "price": o.price} for o in report.choice.openings],
        "compared": [{"program": name, "price": price} for name, price in report.compared],
        "source": emit(result.best, **lowering_of(options), entry=result.entry),
    }


def _emit(options: argparse.Namespace, script: Path, result: ModuleResult, form: str) -> None:
    how: dict[str, Any] = {**lowering_of(options), "entry": result.entry}
    output = options.output
    if form == "stablehlo" and output is not None and output.suffix in (".bin", ".jaxexport"):
        write_atomically(output, export(result.best, **how), script)
        return
    text = (
        str(result.best) if form == "ir"
        else emit(result.best, stored(options.target).target, **how) if form == "jax"
        else stablehlo_text(result.best, **how)
    )  # fmt: skip
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        write_atomically(output, text.encode(), script)


def _show(options: argparse.Namespace, module: Module, entry: PrimFunc, result: ModuleResult) -> None:
    page = Page(console())
    page.title(f"module of {len(module.funcs)} functions, entered at {entry.name}, target {options.target}")
    for section in result.sections():
        page.section(section)
    how = lowering_of(options)
    with waiting("lowering"):
        kernel = compile(result.best, target=stored(options.target).target, entry=result.entry, **how)
    page.section(kernel.made)
    if options.graph is not None:
        page.line(f"\nwritten: {options.graph} (`dot -Tsvg {options.graph}` draws it)")
    if options.no_run:
        return
    page.title("check")
    whole = entered(entry)
    with waiting("comparing with the program as written"):
        inputs = random_inputs(whole, np.random.default_rng(options.seed))
        expected = reference(whole, inputs)
        if expected is None:
            page.line("not compared: the program as written takes too many steps")
            return
        freed = {n: np.asarray(layout.pack(inputs[n])) for n, layout in result.layouts.items() if n in inputs}
        given: Inputs = {**inputs, **freed}
        compared = compare(whole, expected, kernel_results(kernel, given), inputs)
    page.line(f"compared with {expected.name}")
    insist(compared)
    for one in compared:
        page.line(f"- {one}")
