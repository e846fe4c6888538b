"""The graph of a module as a picture, in the language of Graphviz: calls, buffers between them, conversions, prices."""

from __future__ import annotations

from collections.abc import Iterator

from egraph_rules.modules.choice import Choice, Conversion
from egraph_rules.modules.graph import Graph


def dot(graph: Graph, choice: Choice) -> str:
    """A digraph: boxes are calls, ellipses are buffers as they are written, diamonds are conversions, with prices.

    An edge says by which parameter a call takes a buffer, and how it is kept there.
    """
    lines = ["rankdir=LR", 'node [fontname="monospace"]', *_nodes(graph, choice), *_edges(graph, choice)]
    return "\n".join([f"digraph {_quoted(graph.entry.name)} {{", *(f"  {line};" for line in lines), "}"]) + "\n"


def _nodes(graph: Graph, choice: Choice) -> Iterator[str]:
    for k, (call, variant) in enumerate(zip(graph.calls, choice.variants, strict=True)):
        yield f"call{k} [shape=box, label={_quoted(call.name, f'{variant.price:,.0f}')}]"
    for name in graph.between:
        yield f"{_quoted(name)} [shape=ellipse, label={_quoted(name, str(choice.written[name]))}]"
    for k, conversion in enumerate(choice.conversions):
        label = _quoted(f"to {conversion.after}", f"{conversion.price:,.0f}")
        yield f"conversion{k} [shape=diamond, label={label}]"


def _edges(graph: Graph, choice: Choice) -> Iterator[str]:
    for k, conversion in enumerate(choice.conversions):
        yield f"{_quoted(conversion.buffer)} -> conversion{k}"
    for k, (call, variant) in enumerate(zip(graph.calls, choice.variants, strict=True)):
        for param, name in call.buffers:
            kept = variant.storages[param]
            label = f"[label={_quoted(f'{param}: {kept}')}]"
            between = graph.between[name]
            if k in between.writers:
                yield f"call{k} -> {_quoted(name)} {label}"
            if k not in between.readers:
                continue
            serving = [n for n, c in enumerate(choice.conversions) if c.buffer == name and _serves(c, choice, kept)]
            source = f"conversion{serving[0]}" if serving else _quoted(name)
            yield f"{source} -> call{k} {label}"


def _serves(conversion: Conversion, choice: Choice, kept: object) -> bool:
    """Whether a call takes a buffer as a conversion makes it, and not as it was written."""
    return conversion.after == kept and choice.written[conversion.buffer] != kept


def _quoted(*lines: str) -> str:
    r"""Lines of text as a string of Graphviz, where \n stands between them."""
    return '"' + r"\n".join(line.replace("\\", r"\\").replace('"', r"\"") for line in lines) + '"'
