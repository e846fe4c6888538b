"""Why a form of lowering is not taken: what `loopsat.why_not` and `explain --why-not` answer.

A form is asked about by lowering the program with and without it, and by the decisions in which it lost: each has
prices, which are told. What no decision was about found no place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from egraph_rules.cost.target import Target
from egraph_rules.rules.registry import is_rule
from ir.errors import OptionError, suggest
from ir.floats import Floats, floats_named
from ir.nodes import Module, PrimFunc
from ir.presburger.sets import exclusive
from ir.program.modules import ENTRY, Written
from ir.semantics.verify import entered
from lower.analysis.deciding import Taken, noted
from lower.analysis.freedoms import FAMILIES, Form
from lower.emission.emitted import Emitted
from lower.emission.function import emit_function
from lower.instructions.argmax import SEARCHES
from lower.instructions.cholesky import FACTORS
from lower.instructions.convolution import CONVOLUTION
from lower.instructions.deferred_updates import DELAYED
from lower.instructions.recurrence import SCANS
from lower.instructions.segmented_reduction import SEGMENTS
from lower.instructions.sliding_windows import WINDOWED
from lower.instructions.sorted_insertion import INSERTIONS
from lower.instructions.updates_by_key import KEYS_AS_PRODUCTS
from lower.pallas.choice import PALLAS
from lower.price.program import pricing
from lower.restructure.blocking import BLOCKING
from lower.restructure.index_set_splitting import INDEX_SET_SPLITTING
from lower.restructure.interchange import INTERCHANGE
from lower.restructure.reschedule import PERMUTATION, SPLITTING_AT_STEPS
from lower.restructure.stage_unrolling import STAGES
from lower.restructure.statement_fusion import MERGED
from lower.restructure.strip_mining import STRIP_MINING, WINDOWS
from lower.restructure.versioning import VERSIONING
from lower.restructure.wavefront import SKEWING
from lower.runtime.calibration import user_target
from lower.runtime.platforms import platform_of
from lower.runtime.switches import FORMS, MESH, switched_off
from lower.storage.dimension_order import DIMENSION_ORDER
from lower.storage.row_rotation import ROW_ROTATION
from lower.storage.shared_functions import SHARED_FUNCTIONS
from lower.storage.transposed_copy import TRANSPOSED_COPY
from lower.tensor.prefixes import PREFIXES

LOOP = "form of a loop"  # the decision among all that a loop may become that must stay one
WAYS: dict[str, Form] = {  # which form each of these is
    "strips": STRIP_MINING, "factorization": FACTORS, "another order": PERMUTATION,
    "split at steps": SPLITTING_AT_STEPS, "scans": SCANS, "search": SEARCHES, "sorted insertion": INSERTIONS,
    "wavefronts": SKEWING, "rows handed on": ROW_ROTATION,
}  # fmt: skip
DECISIONS: dict[str, Form] = {  # which form a decision is about; its first way is to leave things as they are
    "windows": WINDOWS, "places in turn": INTERCHANGE, "common loop": PERMUTATION, "steps in blocks": BLOCKING,
    "strips": STRIP_MINING, "phases": INDEX_SET_SPLITTING, "two versions": VERSIONING,
    "stages written out": STAGES, "plan with stages": STAGES, "pass of its own": MERGED, "layout": DIMENSION_ORDER,
    "best of all values": INSERTIONS, "keys as products": KEYS_AS_PRODUCTS, "keys one by one": KEYS_AS_PRODUCTS,
    "transposed copy": TRANSPOSED_COPY, "shared function": SHARED_FUNCTIONS,
    "scan": SCANS, "prefix sums": PREFIXES, "ranges": SEGMENTS,
    "windows one by one": WINDOWED, "convolution": CONVOLUTION, "updates put off": DELAYED,
}  # fmt: skip
OTHERS = (  # decisions about single values, which are no forms of their own
    "padded copy", "stage kept", "padded copy kept", "reads behind a barrier", "in floats", "blocks of a product",
    "products term by term", "rows stored",
)  # fmt: skip
_WAYS = ("strips", "common loop", "scan", "ranges", "convolution")  # of which none leaves things as they are


def forms_named(name: str) -> tuple[Form, ...]:
    """The forms that a name is of, or those of a family; none where it is of no form."""
    return tuple(f for f in FORMS if name in (f.name, f.family))


@exclusive
def why_not(
    program: Written | Module,
    name: str,
    target: str | Target = "cpu",
    *,
    floats: Floats | str | Iterable[str] | None = None,
    without: Iterable[str] = (),
    verify: bool = True,
    entry: str = ENTRY,
) -> str:
    """Why a form of lowering, or each of a family (`loopsat rules` lists them), is not taken for a function.

    For one that is taken, it says what the program would cost without it. Of rules of the search, ask
    `optimize(...).why_not(rule)`. Arguments are as for `loopsat.structure`.

    Raises:
        OptionError: there is no form and no family of this name.
        LowerError: the target is unknown, or the function cannot be lowered.
        VerifyError: the program has no meaning.
    """
    forms = forms_named(name)
    if not forms:
        help = suggest(name, [*FAMILIES, *(f.name for f in FORMS)]) or f"the families are {', '.join(FAMILIES)}"
        if is_rule(name):
            help = f"it is a rule of the search: ask optimize(...).why_not({name!r})"
        raise OptionError("rule", f"there is no form of lowering `{name}`, and no family of forms", help=help)
    func = entered(program, entry, verify)
    prices = user_target(platform_of(target) if isinstance(target, str) else target).target
    asker = _Asker(func, prices, floats_named(floats), switched_off(without).forms)
    answers: dict[tuple[str, ...], list[Form]] = {}
    for form in forms:
        answers.setdefault(tuple(asker.lines(form)), []).append(form)
    return "\n\n".join("\n".join(_answer(alike, lines)) for lines, alike in answers.items())


def _answer(forms: Sequence[Form], lines: Sequence[str]) -> Iterator[str]:
    """What is to be said of forms of which the same is."""
    if len(forms) == 1:
        yield from (forms[0].name, f"   law:  {forms[0].law}")
    else:
        yield f"{len(forms)} forms: {', '.join(f.name for f in forms)}"
    yield from (f"   {line}" for line in lines)


class _Asker(Struct, dict=True):
    """One program, lowered once with all decisions noted, and then without each form that is asked about."""

    func: PrimFunc
    target: Target
    floats: Floats
    off: frozenset[str]

    def __post_init__(self) -> None:
        with noted() as decisions:
            self.emitted: Emitted = self._lowered(self.off)
        self.decisions: list[Taken] = decisions

    def _lowered(self, off: frozenset[str]) -> Emitted:
        return emit_function(self.func, target=self.target, floats=self.floats, without=off)

    def lines(self, form: Form) -> Iterator[str]:
        """What is to be said of one form."""
        if {form.name, form.family} & self.off:
            yield "switched off by the caller"
            return
        if form in MESH:
            yield "only for kernels on a mesh (`compile(..., mesh=)`)"
            return
        if form is PALLAS:
            yield "`compile` asks for it once all else is chosen: its report has the prices"
            return
        other = self._lowered(self.off | {form.name})
        withheld = any(line.startswith("withheld") and form.name in line for line in self.emitted.report)
        if other.source != self.emitted.source:
            yield f"taken: {self._difference(form)}"
        elif withheld:
            names = ", ".join(form.floats.name.lower().split("|")) if form.floats.name else "freedoms"
            yield f"withheld: it needs freedoms of floats that are not granted ({names})"
        lost = dict.fromkeys(line for d in self.decisions for line in _lost(d, form))
        yield from lost
        if other.source == self.emitted.source and not lost and not withheld:
            yield "not considered: it has no place in what other forms and the search leave of the program"
            yield from self._loops()

    def _difference(self, form: Form) -> str:
        price = pricing(self.func, self.target, self.floats, self.off)(self.func)
        without = pricing(self.func, self.target, self.floats, self.off | {form.name})(self.func)
        return f"without it the program would cost {without:,.0f} in place of {price:,.0f}"

    def _loops(self) -> Iterator[str]:
        """What is known of loops that stay loops, which most forms are about."""
        found = [line for line in self.emitted.report if line.startswith("loop ") and " stays a loop" in line]
        yield from found or ["no loop stays one: all are axes of arrays"]


def _lost(taken: Taken, form: Form) -> Iterator[str]:
    """What a decision says of a form, where that was not taken."""
    at = f"{taken.place}: " if taken.place else ""
    if taken.decision == LOOP:
        instead = f"{taken.prices[taken.form]:,.0f} of what is taken ({taken.ways[taken.form]})"
        for k, (way, price) in enumerate(zip(taken.ways, taken.prices, strict=True)):
            if k != taken.form and WAYS.get(way.rstrip(" 0123456789")) is form:
                yield f"{at}considered ({way}), and not taken: price {price:,.0f} against {instead}"
    elif DECISIONS.get(taken.decision) is not form:
        return
    elif taken.decision in _WAYS:
        listed = ", ".join(f"{price:,.0f}" for price in taken.prices)
        yield f"{at}{taken.decision}: of the prices {listed}, the least is taken"
    elif taken.form == 0:
        new, old = min(taken.prices[1:]), taken.prices[0] + 0.0  # no -0
        yield f"{at}considered ({taken.decision}), and not taken: price {new:,.0f} against {old:,.0f} without it"
