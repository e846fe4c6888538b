"""SVG drawings of staged programs: which stage feeds which, and how loop variables came from one another.

The layout and the drawing are networkx's and matplotlib's, which the extra `draw` installs; nothing else imports this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Protocol, cast

import matplotlib
import networkx as nx
from matplotlib.figure import Figure

from ir.bounds import Bounds
from ir.errors import LoopsatError
from ir.nodes import For, PrimFunc
from ir.traverse import walk

RELATIONS = ("split", "fuse", "rebase")
_STAGE, _OUTPUT, _INPUT, _LEAF, _EDGE, _LINE = "#cfe2f3", "#9fc5e8", "#ffffff", "#b6d7a8", "#eeeeee", "#555555"


class Step(Protocol):
    """One recorded step of a schedule."""

    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> Sequence[object]: ...
    @property
    def outputs(self) -> Sequence[object]: ...


def stage_graph(bounds: Bounds, path: Path) -> None:
    """Draw stages and inputs, with an edge from each producer to its consumers, labelled by the buffer.

    Raises:
        LoopsatError: the file cannot be written.
    """
    graph: Any = nx.DiGraph()
    given = {b.name: f"input {k}" for k, b in enumerate(bounds.buffers) if not b.producers}
    for name, source in given.items():
        graph.add_node(source, label=name, color=_INPUT)
    outputs = {b.name for b in bounds.buffers if b.parameter}
    places = {s.name: f"stage {k}" for k, s in enumerate(bounds.stages)}
    for stage in bounds.stages:
        color = _OUTPUT if outputs & set(stage.writes) else _STAGE
        graph.add_node(places[stage.name], label=stage.name, color=color)
    for buffer in bounds.buffers:
        sources = [places[p] for p in buffer.producers] if buffer.producers else [given[buffer.name]]
        for source, request in product(sources, buffer.requests):
            target = places[request.consumer]
            known = graph.get_edge_data(source, target)
            label = buffer.name if known is None else f"{known['label']}, {buffer.name}"
            graph.add_edge(source, target, label=label)
    _draw(graph, path)


def variable_graph(func: PrimFunc, steps: Iterable[Step], path: Path) -> None:
    """Draw the loop variables that a function has, and those they were made from by splits, fuses and rebases.

    Raises:
        LoopsatError: the file cannot be written.
    """
    graph: Any = nx.DiGraph()
    current: dict[str, str] = {}

    def node(name: str) -> str:
        if name not in current:
            current[name] = _new(graph, name, _INPUT)
        return current[name]

    for step in steps:
        if step.name not in RELATIONS:
            continue
        sources = [node(name) for name in _loops(step.inputs)]
        relation = _new(graph, step.name, _EDGE)
        for source in sources:
            graph.add_edge(source, relation, label="")
        for name in _loops(step.outputs):
            current[name] = _new(graph, name, _INPUT)
            graph.add_edge(relation, current[name], label="")
    for name in dict.fromkeys(s.var.name for s in walk(func.body) if isinstance(s, For)):
        graph.nodes[node(name)]["color"] = _LEAF
    _draw(graph, path)


def _loops(references: Iterable[object]) -> list[str]:
    names = (getattr(r, "name", r) for r in references)
    return [n for n in names if isinstance(n, str)]


def _new(graph: Any, label: str, color: str) -> str:
    name = f"{label} {graph.number_of_nodes()}"
    graph.add_node(name, label=label, color=color)
    return name


def _draw(graph: Any, path: Path) -> None:
    """Write a graph whose nodes come in the order of its edges, apart from cycles; sources stand on top."""
    depth = _depths(graph)
    width = max(Counter(depth.values()).values(), default=1)
    place = cast("Mapping[str, Any]", nx.multipartite_layout(graph, subset_key="layer", align="horizontal"))
    labels: dict[str, str] = dict(graph.nodes(data="label"))
    longest = max((len(text) for text in labels.values()), default=1)
    figure = Figure(figsize=(1.5 + width * (0.9 + 0.12 * longest), 1.9 + 0.9 * max(depth.values(), default=0)))
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.margins(0.1)
    far = {(a, b) for a, b in graph.edges if abs(depth[a] - depth[b]) > 1}  # bent around what lies between
    _edges(graph, [e for e in graph.edges if e not in far], place, axes, 0.0)
    _edges(graph, [e for e in graph.edges if e in far], place, axes, 0.35)
    for color in dict.fromkeys(graph.nodes[n]["color"] for n in graph.nodes):
        chosen = {n: labels[n] for n in graph.nodes if graph.nodes[n]["color"] == color}
        frame = {"facecolor": color, "edgecolor": _LINE, "boxstyle": "round,pad=0.4"}
        nx.draw_networkx_labels(graph, place, labels=chosen, ax=axes, bbox=frame, font_size=10)
    try:
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "loopsat"}):
            figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}"
        raise LoopsatError("unwritable", message, help="choose a folder you may write to") from error


def _depths(graph: Any) -> dict[str, int]:
    """How far each node is from a source along forward edges; also noted on the nodes."""
    order = {name: k for k, name in enumerate(graph.nodes)}
    depth = dict.fromkeys(order, 0)
    for name in order:
        for target in graph.successors(name):
            if order[name] < order[target]:
                depth[target] = max(depth[target], depth[name] + 1)
    for name, value in depth.items():
        graph.nodes[name]["layer"] = -value
    return depth


def _edges(graph: Any, edges: list[tuple[str, str]], place: Mapping[str, Any], axes: Any, bend: float) -> None:
    style = f"arc3,rad={bend}"
    nx.draw_networkx_edges(
        graph, place, edges, ax=axes, node_size=900, edge_color=_LINE, arrows=True, connectionstyle=style
    )
    labels = {(a, b): text for a, b, text in graph.edges(data="label") if text and (a, b) in edges}
    nx.draw_networkx_edge_labels(
        graph, place, edge_labels=labels, ax=axes, font_size=8, rotate=False, connectionstyle=style
    )
