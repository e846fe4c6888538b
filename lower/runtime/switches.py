"""What `without` switches off, by family or name: rules of the search, rules on tensor terms, and forms of lowering.

`FORMS` is the table of all that lowering may choose. Each form is declared where it is implemented, and asks there
whether it is switched off (`Policy.takes`); what is not in the table cannot be switched.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from egraph_rules.authoring.tensor import FAMILY
from egraph_rules.rules import FAMILIES as RULE_FAMILIES
from egraph_rules.rules.registry import active_tensor_rules, is_rule, known_rules
from ir.errors import OptionError, expect, suggest
from lower.analysis.freedoms import FAMILIES as FORM_FAMILIES
from lower.analysis.updates import EXTREMES, UPDATES
from lower.array.domain_extension import EXTENSION
from lower.array.finiteness import MASKED
from lower.distribute.choices import PARTIAL
from lower.distribute.lookups import LOOKUP
from lower.distribute.spmd import DISTRIBUTION
from lower.instructions.argmax import SEARCHES
from lower.instructions.cholesky import FACTORS
from lower.instructions.convolution import CONVOLUTION
from lower.instructions.deferred_updates import DELAYED
from lower.instructions.discounted_sum import DISCOUNTED_SUMS
from lower.instructions.filters import FILTERS
from lower.instructions.last_writer import LAST_WRITER
from lower.instructions.permutations import PERMUTATIONS
from lower.instructions.recurrence import EXTREMES_OF_SUMS, RUNNING_EXTREMES, SCANS
from lower.instructions.segmented_reduction import SEGMENTS
from lower.instructions.shift_registers import SHIFT_REGISTERS
from lower.instructions.sliding_windows import WINDOWED
from lower.instructions.sorted_insertion import INSERTIONS
from lower.instructions.triangular_solve import SYSTEMS
from lower.instructions.updates_by_key import KEYS_AS_PRODUCTS, UPDATES_BY_KEY
from lower.nest.element_reads import ELEMENT_READS
from lower.nest.if_conversion import (
    BEST_OF_GROUPS,
    CHOICE_AS_EXTREME,
    DISJOINT_CASES,
    EXCHANGE,
    EXISTENCE,
    IF_CONVERSION,
)
from lower.nest.linear_combinations import COLLECTED, EXPANDED
from lower.nest.normalize import PRIVATIZATION
from lower.nest.residues import RESIDUES
from lower.nest.silent_stores import SILENT_STORES
from lower.nest.steady_conditions import STEADY_CONDITIONS
from lower.nest.tiles import INSTANCES
from lower.pallas.choice import PALLAS
from lower.restructure.blocking import BLOCKING
from lower.restructure.coalescing import COALESCING, COLLAPSING
from lower.restructure.independent_steps import CIRCULAR_BUFFERS, INDEPENDENT_STEPS
from lower.restructure.index_set_splitting import INDEX_SET_SPLITTING
from lower.restructure.interchange import INTERCHANGE
from lower.restructure.loop_reversal import LOOP_REVERSAL
from lower.restructure.plan import PLANNING
from lower.restructure.reschedule import PERMUTATION, SPLITTING_AT_STEPS
from lower.restructure.stage_unrolling import STAGES
from lower.restructure.statement_fusion import MERGED
from lower.restructure.strip_mining import PERIODS, STRIP_MINING, WINDOWS
from lower.restructure.uniform_locals import UNIFORM_LOCALS
from lower.restructure.unrolling import FULL_UNROLLING, LOOP_FUNCTIONS, PARTIAL_UNROLLING
from lower.restructure.versioning import VERSIONING
from lower.restructure.wavefront import SKEWING
from lower.storage.array_expansion import AHEAD
from lower.storage.columns import COLUMNS
from lower.storage.contraction import CONTRACTION
from lower.storage.copy_in_out import COPY_IN_OUT
from lower.storage.delinearization import DELINEARIZATION
from lower.storage.dimension_order import DIMENSION_ORDER
from lower.storage.forward_substitution import FORWARD_SUBSTITUTION
from lower.storage.invariant_code_motion import CODE_MOTION
from lower.storage.invariant_reductions import INVARIANT_REDUCTIONS
from lower.storage.linearization import LINEARIZATION
from lower.storage.packed_updates import PACKING
from lower.storage.predicate_elimination import PREDICATE_ELIMINATION
from lower.storage.row_rotation import ROW_ROTATION
from lower.storage.scalar_promotion import DELICM
from lower.storage.scalar_recurrences import PAST_VALUES
from lower.storage.shared_functions import SHARED_FUNCTIONS
from lower.storage.transposed_copy import TRANSPOSED_COPY
from lower.tensor.prefixes import PREFIXES
from lower.tensor.search import EINSUM

STRUCTURE = (
    PLANNING, UPDATES, EXTREMES, PRIVATIZATION, IF_CONVERSION, EXCHANGE, DISJOINT_CASES, EXISTENCE,
    STEADY_CONDITIONS, ELEMENT_READS, RESIDUES, BEST_OF_GROUPS, SILENT_STORES, INTERCHANGE, PERMUTATION,
    SPLITTING_AT_STEPS,
    INDEX_SET_SPLITTING, BLOCKING, STRIP_MINING, PERIODS, WINDOWS, SKEWING, INDEPENDENT_STEPS, CIRCULAR_BUFFERS, AHEAD,
    COALESCING, COLLAPSING, FULL_UNROLLING, PARTIAL_UNROLLING, UPDATES_BY_KEY, KEYS_AS_PRODUCTS, LOOP_FUNCTIONS,
    STAGES, VERSIONING, MERGED, FORWARD_SUBSTITUTION, INVARIANT_REDUCTIONS, CODE_MOTION,
    DELICM, PAST_VALUES, CONTRACTION, ROW_ROTATION,
    UNIFORM_LOCALS, COLUMNS, SHARED_FUNCTIONS, COPY_IN_OUT, TRANSPOSED_COPY, DIMENSION_ORDER, LOOP_REVERSAL,
    DELINEARIZATION, LINEARIZATION, PREDICATE_ELIMINATION, PACKING,
)  # fmt: skip
INSTRUCTIONS = (
    EINSUM, CONVOLUTION, WINDOWED, SCANS, PREFIXES, RUNNING_EXTREMES, EXTREMES_OF_SUMS, FILTERS, SEGMENTS,
    SEARCHES, INSERTIONS, PERMUTATIONS, LAST_WRITER, DISCOUNTED_SUMS, SHIFT_REGISTERS, SYSTEMS, FACTORS,
    DELAYED, PALLAS, INSTANCES,
)  # fmt: skip
VALUES = (COLLECTED, EXPANDED, CHOICE_AS_EXTREME, MASKED, EXTENSION)

MESH = (DISTRIBUTION, PARTIAL, LOOKUP)

FORMS = (*STRUCTURE, *INSTRUCTIONS, *MESH, *VALUES)


class Switches(Struct, frozen=True):
    """What is switched off: families and names of rules of the search, and those of forms and tensor rules."""

    rules: tuple[str, ...] = ()
    forms: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(dict.fromkeys((*self.rules, *sorted(self.forms))))


def switched_off(without: Iterable[str]) -> Switches:
    """What families and names of rules and forms switch off.

    Raises:
        OptionError: there is no such family, rule or form.
    """
    expect(without, Iterable, "`without` has names of rules and forms", 'as in without=("loops",)')
    given = (without,) if isinstance(without, str) else tuple(dict.fromkeys(without))
    forms = {*FORM_FAMILIES, *(f.name for f in FORMS), FAMILY, *(r.name for r in active_tensor_rules())}
    for name in given:
        if name not in forms and not is_rule(name):
            families = [*RULE_FAMILIES, *FORM_FAMILIES]
            help = suggest(name, [*forms, *known_rules()]) or f"the families are {', '.join(families)}"
            raise OptionError("rule", f"there is no family, rule or form `{name}`", help=help)
    both = {n for n in given if n in FORM_FAMILIES and is_rule(n)}  # calls are found by rules, and written by forms
    rules = tuple(n for n in given if n not in forms or n in both)
    return Switches(rules, frozenset(n for n in given if n in forms))
