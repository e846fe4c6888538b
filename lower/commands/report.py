"""What `loopsat optimize --html` adds to the page of a search: JAX source, check, times, and the roofline."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

from egraph_rules.explain.derivation import Step
from egraph_rules.explain.web import Panel, table
from lower.check.kernels import Checked
from lower.runtime.calibration import Machine
from lower.runtime.callable import Kernel
from lower.tune.measure import Profile, milliseconds

_WIDTH, _HEIGHT, _EDGE = 560, 320, 48
_DECADES = (1e-3, 1e4)  # operations a byte


def panels(
    kernel: Kernel,
    structure: Sequence[Step],
    checked: Checked | None,
    profiles: Sequence[Profile],
    machine: Machine | None,
) -> Iterator[Panel]:
    """The sections, as far as something is known; `structure` are the passes that lead to how the kernel runs."""
    yield Panel("structure", "How it will run", "".join(_structure(structure)))
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in kernel.report)
    yield Panel("source", "JAX source", f"<pre>{html.escape(kernel.source)}</pre><ul>{notes}</ul>")
    if checked is not None:
        compared = "".join(f"<li>{html.escape(str(c))}</li>" for c in checked.compared)
        yield Panel("check", "Check", f"<p>compared with {html.escape(checked.said)}</p><ul>{compared}</ul>")
    if profiles:
        yield Panel("times", "Predicted and measured time", _times(profiles))
        yield Panel("roofline", "Roofline", _roofline(profiles, machine))


def _structure(steps: Sequence[Step]) -> Iterator[str]:
    """The loop program in the form in which it will run, and which passes have made it."""
    if not steps:
        yield "<p>As it is written: no pass of lowering changes its loops.</p>"
        return
    yield f"<pre>{html.escape(str(steps[-1].after))}</pre><ol>"
    for step in steps:
        yield f"<li><b>{html.escape(step.rule)}</b>: {html.escape(step.law)}<br>{html.escape(step.fact)}</li>"
    yield "</ol>"


def _times(profiles: Sequence[Profile]) -> str:
    rows = [
        (
            html.escape(p.name),
            f"{p.cost:,.0f}",
            "–" if p.predicted is None else milliseconds(p.predicted),
            milliseconds(p.time.median),
            f"{milliseconds(p.time.low)}–{milliseconds(p.time.high)}",
            f"{profiles[0].time.median / max(p.time.median, 1e-12):.2f}",
        )
        for p in profiles
    ]
    return table(("program", "cost", "predicted ms", "ms", "quartiles", "times as fast"), rows, range(1, 6))


def _roofline(profiles: Sequence[Profile], machine: Machine | None) -> str:
    """Operations a second over operations a byte, in logarithms: what the machine permits, and what programs reach."""
    known = [p for p in profiles if p.flops and p.traffic]
    if machine is None:
        return "<p>The limits of this machine are not known: run <code>loopsat calibrate</code> once.</p>"
    if not known:
        return "<p>XLA does not tell how many operations the programs take, or they take none.</p>"
    rate = machine.bandwidth[-1][1]
    top = 10.0 ** math.ceil(math.log10(machine.flops))
    bottom = 10.0 ** math.floor(math.log10(min(rate * _DECADES[0], *(_speed(p) for p in known))))

    def x(intensity: float) -> float:
        low, high = map(math.log10, _DECADES)
        share = (math.log10(min(max(intensity, _DECADES[0]), _DECADES[1])) - low) / (high - low)
        return _EDGE + share * (_WIDTH - 2 * _EDGE)

    def y(speed: float) -> float:
        share = (math.log10(speed) - math.log10(bottom)) / (math.log10(top) - math.log10(bottom))
        return _HEIGHT - _EDGE - share * (_HEIGHT - 2 * _EDGE)

    ridge = machine.flops / rate
    roof = [(_DECADES[0], rate * _DECADES[0]), (ridge, machine.flops), (_DECADES[1], machine.flops)]
    line = " ".join(f"{x(i):.1f},{y(s):.1f}" for i, s in roof)
    limit = f"{machine.flops / 1e9:.0f} GFLOP/s"
    parts = [
        f'<polyline class="roof" points="{line}"/>',
        f'<path class="axis" d="M{_EDGE} {_EDGE}V{_HEIGHT - _EDGE}H{_WIDTH - _EDGE}"/>',
        f'<text x="{_WIDTH - _EDGE}" y="{_HEIGHT - _EDGE + 32}" text-anchor="end">operations a byte</text>',
        f'<text x="{_EDGE}" y="{_EDGE - 12}">operations a second</text>',
        f'<text x="{_WIDTH - _EDGE}" y="{y(machine.flops) - 6:.0f}" text-anchor="end">{limit}</text>',
        f'<text x="{x(ridge) - 70:.0f}" y="{y(machine.flops / 3):.0f}" text-anchor="end">{rate / 1e9:.0f} GB/s</text>',
    ]
    for decade in range(int(math.log10(_DECADES[0])), int(math.log10(_DECADES[1])) + 1):
        place = f'x="{x(10.0**decade):.0f}" y="{_HEIGHT - _EDGE + 16}"'
        parts.append(f'<text {place} text-anchor="middle">{10.0**decade:g}</text>')
    for p in known:
        intensity = (p.flops or 0.0) / (p.traffic or 1)
        parts.append(f'<circle class="point" cx="{x(intensity):.1f}" cy="{y(_speed(p)):.1f}" r="4"/>')
        parts.append(f'<text x="{x(intensity) + 8:.1f}" y="{y(_speed(p)) + 4:.1f}">{html.escape(p.name)}</text>')
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    return f'<svg class="drawn" {box} role="img" aria-label="roofline">{"".join(parts)}</svg>'


def _speed(profile: Profile) -> float:
    return max((profile.flops or 0.0) / max(profile.time.median, 1e-12), 1.0)
