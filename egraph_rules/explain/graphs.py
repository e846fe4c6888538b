"""E-graphs of statements, from the frozen rows of a search, in the format of egraph-serialize.

https://github.com/egraphs-good/egraph-serialize; the viewer that egglog brings reads it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from typing import Any, cast

from msgspec import Struct, field

from egraph_rules.engine.engine import Row
from egraph_rules.explain.derivation import Trace
from egraph_rules.search.extract import Choice, ClassId
from ir.printing.printer import to_script

MOST_NODES = 60  # more cannot be taken in at a glance
_PARTS = {  # columns of a row that name classes, by table
    "Seq": (2, 3), "If": (2, 3, 4), "For": (3, 4, 5), "Let": (3, 4), "Alloc": (3,), "Block": (3,), "Store": (3, 4),
    "Twin": (3,),
    "Load": (2,), "Call": (1,), "Bin": (2, 3), "Un": (2,), "Cast": (1,), "Select": (1, 2, 3), "Cons": (0, 1),
}  # fmt: skip


class Graph(Struct, frozen=True):
    """The e-graph of one statement: its first line as the program has it, and the nodes."""

    title: str
    content: dict[str, Any]

    @property
    def alternatives(self) -> int:
        """How many nodes stand beside others in their class."""
        sizes = Counter(node["eclass"] for node in self.content["nodes"].values())
        return sum(size - 1 for size in sizes.values())


def graphs_of(trace: Trace, at: int) -> list[Graph]:
    """The e-graphs of a program that a search found, and of its statements; those with most alternatives first."""
    choice, _, _ = trace.found[at]
    drawn = _Drawn(trace)
    found: dict[ClassId, Graph] = {}
    queue = deque([choice])
    while queue:
        one = queue.popleft()
        if one.origin not in found and one.kind not in ("skip", "seq", "leaf"):
            found[one.origin] = Graph(drawn.title(one), drawn.graph(one.origin))
        queue.extend(one.parts)
    return sorted(found.values(), key=lambda graph: -graph.alternatives)


class _Drawn(Struct, dict=True):
    """The rows of a search by class."""

    trace: Trace
    names: dict[ClassId, str] = field(default_factory=lambda: dict[ClassId, str]())

    def __post_init__(self) -> None:
        self.nodes: dict[ClassId, list[tuple[str, Row]]] = defaultdict(list)
        self.leaves: dict[ClassId, str] = {}
        tables = self.trace.extractor.tables
        for kind in (*_PARTS, "Leaf", "Nil"):
            for row in tables[kind]:
                self.nodes[row.output].append((kind, row))
        for table in ("ival", "fval"):
            for row in tables[table]:
                self.leaves[row.inputs[0]] = str(row.output)
        for row in tables["Ate"]:
            if row.output not in self.nodes:
                expr = self.trace.extractor.numbering.exprs[cast(int, row.inputs[1])]
                self.leaves.setdefault(row.output, _by_depth(to_script(expr)))

    def title(self, choice: Choice) -> str:
        """The first line of a statement."""
        text = to_script(self.trace.rebuilder.build(choice)).splitlines()
        return text[0] if text else "pass"

    def name(self, at: ClassId) -> str:
        """A short name of a class."""
        return self.names.setdefault(at, f"c{len(self.names)}")

    def graph(self, root: ClassId) -> dict[str, Any]:
        """The classes that can be reached from one, those near it first, up to a number of nodes."""
        nodes: dict[str, dict[str, Any]] = {}
        reached = {root: None}
        queue = deque([root])
        kept: list[tuple[ClassId, list[tuple[str, tuple[ClassId, ...]]]]] = []
        count = 0
        while queue and count < MOST_NODES:
            at = queue.popleft()
            members = self.members(at)
            kept.append((at, members))
            count += len(members)
            for _, parts in members:
                for part in parts:
                    if part not in reached:
                        reached[part] = None
                        queue.append(part)
        drawn = {at for at, _ in kept}
        for at, members in kept:
            for k, (op, parts) in enumerate(members):
                children = [f"{self.name(p)}.0" for p in parts if p in drawn]
                left_out = " …" if len(children) < len(parts) else ""
                content = {"op": op + left_out, "children": children, "eclass": self.name(at), "cost": 1.0}
                nodes[f"{self.name(at)}.{k}"] = content
        return {"nodes": nodes, "root_eclasses": [self.name(root)], "class_data": {}}

    def members(self, at: ClassId) -> list[tuple[str, tuple[ClassId, ...]]]:
        """The nodes of a class: what each is called, and the classes of its parts."""
        found = {(self.label(kind, row), self.parts(kind, row)) for kind, row in self.nodes.get(at, ())}
        if not found or at in self.leaves:
            found.add((self.leaves.get(at, "?"), ()))
        return sorted(found, key=lambda node: (node[0], [self.name(p) for p in node[1]]))

    def parts(self, kind: str, row: Row) -> tuple[ClassId, ...]:
        """The classes of a node's parts."""
        return tuple(row.inputs[k] for k in _PARTS.get(kind, ()))

    def label(self, kind: str, row: Row) -> str:
        """What a node is called."""
        numbering = self.trace.extractor.numbering
        match kind:
            case "Store":
                return f"store {numbering.buffers[cast(int, row.inputs[2])].name}"
            case "Load":
                return f"load {numbering.buffers[cast(int, row.inputs[1])].name}"
            case "Bin" | "Un":
                return str(row.inputs[0])
            case "Cast":
                return f"cast {row.inputs[0]}"
            case "Leaf":
                first = to_script(numbering.stmts[cast(int, row.inputs[2])]).splitlines()
                return _by_depth(first[0]) if first else "pass"
            case _:
                return {"Cons": "index", "Nil": "end"}.get(kind, kind.lower())


def _by_depth(text: str) -> str:
    """Text in which variables, which are numbered by depth in an e-graph, are names: `v0` is the outermost."""
    return re.sub(r"%(\d+)[.\w]*", r"v\1", text)
