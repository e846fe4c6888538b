"""Which branches and searches become choices of values, and sums of cases that exclude each other.

How they do is said by the moves (`ir/transform/branches`), and here which of them may be taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ir.analysis.conditions import negate
from ir.dtypes import DType
from ir.nodes import Binary, Expr, PrimFunc, Var
from ir.program.edit import names_in
from ir.transform.branches import if_convert
from ir.transform.branches.convert import Converter
from ir.traverse import free_vars, nesting, node_count
from lower.analysis.freedoms import NUMBERS, Form, Policy

IF_CONVERSION = Form(
    "structure.if_conversion",
    "if c: X = a else: X = b  =  X = select(c, a, b)",
    "the condition is evaluated before the store in both",
)
EXCHANGE = Form(
    "structure.exchange",
    "if a > b: t = a; a = b; b = t  =  t = select(a > b, b, a); b = select(a > b, a, b); a = t",
    "both are read before either is stored to, and where they are in order each is stored back",
)
DISJOINT_CASES = Form(
    "structure.disjoint_cases",
    "if a or b: s = s + e  =  if a: s = s + e; if not a and b: s = s + e",
    "just one of the cases applies where one does, and sums are in any order",
)
CHOICE_AS_EXTREME = Form(
    "values.extreme",
    "select(a < b, a, b)  =  min(a, b)",
    "of two numbers that are compared the smaller one is taken",
    NUMBERS,
)
EXISTENCE = Form(
    "structure.existence",
    "for i: if c: X = e  =  b = any(c for i); if b: X = e   where neither e nor the place of X depends on i or reads X",
    "nothing is stored before c holds for the first time, and what is stored afterwards is there already",
)
BEST_OF_GROUPS = Form(
    "structure.best_of_groups",
    "for i: if v[i] > B[g[i]]: B[g[i]] = v[i]; A[g[i]] = e[i]  =  for i: B[g[i]] = max(B[g[i]], v[i]); for i: if "
    "v[i] == B[g[i]]: k[g[i]] = min(k[g[i]], i); for q: A[q] = e[k[q]]",
    "the value that is kept is the best one, and with it what is stored of the first element that has it",
    NUMBERS,
)

_LARGE, _DEEP = 256, 48  # expressions in one that has a name of its own, and how deeply they are nested


def is_large(expr: Expr) -> bool:
    """Whether an expression is too large or too deep to be a part of others: it gets a name in source.

    Python reads 200 brackets within each other, and what is put in place of several names may double each time.
    """
    return node_count(expr) > _LARGE or nesting(expr) > _DEEP


def as_extreme(value: Expr, policy: Policy) -> Expr:
    """The smaller or larger of two numbers where a comparison of them selects one, if that may be."""
    return if_convert.as_extreme(value) if policy.may(CHOICE_AS_EXTREME, value.dtype) else value


def converter(func: PrimFunc, policy: Policy) -> Converter:
    """What writes the branches and searches of a function in the terms that a policy has."""
    return Converter(
        names=names_in(func),
        temporary=if_convert.temporaries(func.body) if policy.takes(EXCHANGE) else frozenset(),
        extreme=lambda value: as_extreme(value, policy),
        choices=policy.takes(IF_CONVERSION),
        exchanges=policy.takes(EXCHANGE),
        existence=policy.takes(EXISTENCE),
        best=lambda dtype: policy.may(BEST_OF_GROUPS, dtype),
    )


def disjoint_cases(
    guards: tuple[Expr, ...], kept: Collection[Var], loops: Collection[Var]
) -> Iterator[tuple[Expr, ...]]:
    """Guards of statements that together add up what one does, each of which asks pairs of axes one after the other.

    A sum where `a(i, k) or b(j, k)` holds is one where a does, which does not depend on j, and a product of matrices of
    zeros and ones; `kept` are variables of the place that is added to.
    """
    for k, guard in enumerate(guards):
        match guard:
            case Binary(op="or", lhs=a, rhs=b):
                cases = ((a,), (negate(a), b))
            case Binary(op="ne", lhs=a, rhs=b) if a.dtype is DType.BOOL:
                cases = ((a, negate(b)), (negate(a), b))
            case _:
                continue
        one, other = (free_vars(e) & set(loops) for e in (a, b))
        if (one - other) & set(kept) and (other - one) & set(kept) and (one & other) - set(kept):
            for case in cases:
                yield from disjoint_cases((*guards[:k], *case, *guards[k + 1 :]), kept, loops)
            return
    yield guards
