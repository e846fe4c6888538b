"""Rules over integers at every value of 8-bit dtypes, limits included: signed overflow is a fault, unsigned wraps.

The evaluator works on arrays and shares nothing with the rules, the prover, or the interpreter.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest

from egraph_rules import prove, simplify
from egraph_rules.authoring.proposal import Here
from egraph_rules.authoring.rule import Number, Rule, Truth, instantiate, is_number
from egraph_rules.contexts.context import Contexts
from egraph_rules.contexts.facts import Priority
from egraph_rules.rules import all_rules
from egraph_rules.rules.affine import affine_form
from egraph_rules.rules.algebra import bits_as_arithmetic, cast_of_cast, polynomial_form
from egraph_rules.rules.index_terms import as_written, terms
from egraph_rules.rules.wrapping import symbolic_terms, wrapping_terms
from ir import parse_expr, to_script
from ir.analysis.effects import EffectAnalysis
from ir.arith import ArithmeticFault, fold_binary
from ir.dtypes import DType
from ir.errors import InterpretError
from ir.nodes import (
    Binary,
    BinaryOp,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Let,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
    binary,
    const,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.traverse import children, free_vars, walk_expr, with_children
from profiles import some
from tests.exhaustive import Grid, difference, values_of
from tests.expressions import value

DTYPES = (DType.INT8, DType.UINT8)
PATTERNS = [r for r in all_rules() if r.pattern is not None and r.dtype is None and "float" not in r.kinds.value[0]]
ON_EXPRESSIONS = (affine_form, polynomial_form, bits_as_arithmetic, cast_of_cast)
ON_NESTS = (as_written, terms, symbolic_terms, wrapping_terms)


def anywhere() -> Here:
    contexts = Contexts(EffectAnalysis(), None, 30_000)
    return Here(contexts, contexts.root(pb.always(), Priority.FACTS), 0)


# Patterns -------------------------------------------------------------------------------------------------------------


def exactly(expr: Expr, numbers: dict[str, int]) -> int:
    """The value of what a rule computes from constants, as mathematical integers."""
    match expr:
        case Number(name=name):
            return numbers[name]
        case Const(value=found):
            return int(found)
        case Unary(op="neg", operand=a):
            return -exactly(a, numbers)
        case Binary(op=op, lhs=a, rhs=b):
            x, y = exactly(a, numbers), exactly(b, numbers)
            return int(x and y) if op == "and" else int(fold_binary(op, x, y, DType.INT64))
        case _:
            raise AssertionError(expr)


def computed(expr: Expr, numbers: dict[str, int], dtype: DType) -> Expr | None:
    """A replacement with its numbers computed; None where one is not of the dtype, which is no match."""
    if isinstance(expr, Const) and expr.dtype is DType.BOOL:
        return expr
    if is_number(expr):
        try:
            found = exactly(expr, numbers)
        except ArithmeticFault:
            return None
        return const(found, dtype) if dtype.min <= found <= dtype.max else None
    if isinstance(expr, Var):
        return Var(expr.name, DType.BOOL if isinstance(expr, Truth) else dtype)
    parts = [computed(c, numbers, dtype) for c in children(expr)]
    known = tuple(p for p in parts if p is not None)
    return with_children(expr, known) if len(known) == len(parts) else None


def instances(item: Rule, dtype: DType, step: int) -> Iterator[tuple[Expr, Expr, list[Expr], Grid]]:
    """Pattern, replacement and conditions for constants of a dtype, with all values of the other variables."""
    assert item.pattern is not None
    assert item.replacement is not None
    variables = {e.name: e for e in walk_expr(item.pattern) if isinstance(e, Var)}
    numbers = [v for v in variables.values() if isinstance(v, Number)]
    rest = {v.name: Var(v.name, DType.BOOL if isinstance(v, Truth) else dtype) for v in variables.values()}
    terms_ = [rest[v.name] for v in variables.values() if not isinstance(v, Number)]
    few = len(terms_) > 2 or step > 1
    grid = Grid({v: values_of(v.dtype, few=few) for v in terms_})
    for picked in itertools.product(*(list(values_of(dtype, few=True))[::step] for _ in numbers)):
        chosen = {v.name: n for v, n in zip(numbers, picked, strict=True)}
        try:
            if not all(exactly(c, chosen) for c in item.conditions if isinstance(c, Expr) and is_number(c)):
                continue
        except ArithmeticFault:
            continue
        new = computed(item.replacement, chosen, dtype)
        if new is not None:
            values = {**rest, **{name: Const(n, dtype) for name, n in chosen.items()}}
            asked = [instantiate(c, values, dtype) for c in item.conditions if isinstance(c, Expr) and not is_number(c)]
            yield instantiate(item.pattern, values, dtype), new, asked, grid


def check_patterns(step: int) -> int:
    count = 0
    for item in PATTERNS:
        dtypes = [d for d in DTYPES if ("int" if d.is_signed else "uint") in item.kinds.value]
        for dtype in dtypes or [DType.BOOL]:
            for old, new, asked, grid in instances(item, dtype, step):
                count += 1
                assert difference(old, new, grid, asked) is None, (item.name, dtype, to_script(old), to_script(new))
    return count


def test_patterns_hold_at_the_limits_of_dtypes() -> None:
    assert check_patterns(2) > 1000


@pytest.mark.fuzz
def test_patterns_hold_at_all_values() -> None:
    assert check_patterns(1) > 3_000


@pytest.mark.parametrize(
    ("old", "new"), [("x + 1 <= y", "x < y"), ("x - y > 0", "x > y"), ("(x + y) // 2", "x + (y - x) // 2")]
)
def test_the_evaluator_tells_what_wraps_or_faults(old: str, new: str) -> None:
    for dtype in DTYPES:
        names = {"x": dtype.value, "y": dtype.value}
        grid = Grid({Var(n, dtype): values_of(dtype, few=False) for n in names})
        one, other = (typed(text, dtype) for text in (old, new))
        wraps = difference(one, other, grid) is not None
        assert wraps is (not dtype.is_signed or old.startswith("("))


def test_the_evaluator_agrees_with_the_interpreter() -> None:
    rng = random.Random(3)
    for _ in range(60):
        dtype = rng.choice(DTYPES)
        expr = Expressions(rng, dtype).integer(3)
        names = sorted(free_vars(expr), key=lambda v: v.name)
        at = {v: rng.choice(list(values_of(v.dtype, few=True))) for v in names}
        found, bad = Grid({v: [n] for v, n in at.items()}).value(expr)
        if bad.any():
            with pytest.raises(InterpretError):
                value(expr, at)
        else:
            assert value(expr, at) == found.item(), (to_script(expr), at)


# Rules in Python ------------------------------------------------------------------------------------------------------


def typed(text: str, dtype: DType) -> Expr:
    """An expression over x, y, z of a dtype, whose numbers have it too."""
    found = parse_expr(text, dict.fromkeys("xyz", "int32"))
    return retyped(found, dtype)


def retyped(expr: Expr, dtype: DType) -> Expr:
    match expr:
        case Var(name=name):
            return Var(name, dtype)
        case Const(value=found) if expr.dtype.is_integer:
            return const(int(found), dtype)
        case _:
            return with_children(expr, tuple(retyped(c, dtype) for c in children(expr)))


class Expressions:
    """Random expressions over two variables of a dtype."""

    def __init__(self, rng: random.Random, dtype: DType, names: str = "xy") -> None:
        self.rng, self.dtype, self.names = rng, dtype, names
        self.edges = list(values_of(dtype, few=True))

    def leaf(self) -> Expr:
        return Var(self.rng.choice(self.names), self.dtype) if self.rng.random() < 0.6 else self.number()

    def number(self) -> Expr:
        return const(self.rng.choice([1, 1, 2, self.rng.choice(self.edges)]), self.dtype)

    def integer(self, depth: int) -> Expr:
        pick = self.rng.choice
        if depth <= 0 or self.rng.random() < 0.15:
            return self.leaf()
        op = pick(
            ["add", "add", "sub", "sub", "mul", "min", "max", "div", "div", "neg", "select", "bits", "cast", "sh"]
        )
        match op:
            case "neg":
                return Unary(pick(["neg", "abs"]), self.integer(depth - 1)) if self.dtype.is_signed else self.leaf()
            case "select":
                return Select(self.truth(depth - 1), self.integer(depth - 1), self.integer(depth - 1))
            case "bits":
                return Binary(pick(["bitand", "bitor", "bitxor"]), self.integer(depth - 1), self.number())
            case "sh":
                return Binary(pick(["shl", "shr"]), self.integer(depth - 1), const(self.rng.randint(0, 7), self.dtype))
            case "cast":
                middle = pick([DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32])
                inner: Expr = Cast(middle, self.integer(depth - 1))
                return Cast(self.dtype, pick([inner, Binary("add", inner, const(1, middle))]))
            case "div":
                by = const(pick([n for n in self.edges if n]), self.dtype)
                kind = pick(["floordiv", "floormod", "truncdiv", "truncmod"])
                return binary(
                    cast(BinaryOp, kind), self.integer(depth - 1), by if self.rng.random() < 0.8 else self.leaf()
                )
            case _:
                right = self.integer(depth - 1) if self.rng.random() < 0.5 else self.number()
                return binary(cast(BinaryOp, op), self.integer(depth - 1), right)

    def truth(self, depth: int) -> Expr:
        if depth > 1 and self.rng.random() < 0.3:
            op = self.rng.choice(["and", "or", "not"])
            one = self.truth(depth - 1)
            return Unary("not", one) if op == "not" else binary(cast(BinaryOp, op), one, self.truth(depth - 1))
        op = self.rng.choice(["eq", "ne", "lt", "le", "gt", "ge"])
        return binary(cast(BinaryOp, op), self.integer(depth - 1), self.integer(depth - 1))


NAMED = (
    "x + 1 <= y", "y >= x + 1", "x > y // 2", "x // 2 < y", "x - 1 < y", "x + 1 > x", "x - y >= 0", "x * 2 <= y * 2",
    "x < 3 and x < 5", "x >= 0", "x + y < y", "x // 3 == y", "x % 4 < y // 4", "T.min(x, y) - 1 < x", "x + 1 == y + 1",
    "(x + 1) // 2 * 2 <= x", "T.max(x + 1, y) > x", "x - 1 - y", "(x + y) - y", "x * 2 // 2", "-x // 2",
)  # fmt: skip


def check_on_expressions(exprs: Iterator[Expr]) -> int:
    here, count = anywhere(), 0
    for expr in exprs:
        names = sorted(free_vars(expr), key=lambda v: v.name)
        grid = Grid({v: values_of(v.dtype, few=False) for v in names})
        for item in ON_EXPRESSIONS:
            assert item.propose_expr is not None
            for new in item.propose_expr(expr, here):
                count += 1
                assert difference(expr, new, grid) is None, (item.name, to_script(expr), to_script(new))
    return count


def drawn(seeds: range) -> Iterator[Expr]:
    for seed in seeds:
        rng = random.Random(seed)
        made = Expressions(rng, rng.choice(DTYPES))
        yield made.truth(rng.randint(1, 3)) if seed % 2 else made.integer(rng.randint(1, 3))


def named() -> Iterator[Expr]:
    return (typed(text, dtype) for text in NAMED for dtype in DTYPES)


def test_rules_in_python_hold_at_all_values() -> None:
    assert check_on_expressions(itertools.chain(named(), drawn(range(300)))) > 150


@pytest.mark.fuzz
def test_rules_in_python_hold_on_many_expressions() -> None:
    assert check_on_expressions(drawn(range(20_000))) > 5000


def run(stmt: Stmt, grid: Grid, bad: list[np.ndarray], out: list[np.ndarray]) -> None:
    """What the stores of a nest write, where, and where it faults; loops are axes of the grid."""
    match stmt:
        case Let(var=var, value=bound, body=body):
            grid.arrays[var.name], fault = grid.value(bound)
            bad.append(fault)
            run(body, grid, bad, out)
        case For(body=body):
            run(body, grid, bad, out)
        case Seq(stmts=stmts):
            for part in stmts:
                run(part, grid, bad, out)
        case Store(indices=indices, value=stored):
            for expr in (*indices, stored):
                found, fault = grid.value(expr)
                out.append(found)
                bad.append(fault)
        case _:
            raise AssertionError(stmt)


def check_on_nests(seeds: range) -> int:
    here, count = anywhere(), 0
    for seed in seeds:
        rng = random.Random(seed)
        dtype = rng.choice(DTYPES)
        i, j = (Var(n, dtype) for n in "ij")
        made = Expressions(rng, dtype, "ijxy")
        body = Store(Buffer("A", (const(100, dtype),), dtype), (made.integer(2),), made.integer(3))
        extents = [rng.choice([1, 2, 5, 12]) for _ in "ij"]
        zero = const(0, dtype)
        nest = For(i, zero, const(extents[0], dtype), For(j, zero, const(extents[1], dtype), body))
        outer = {Var(n, dtype): values_of(dtype, few=True) for n in "xy"}
        values = {**outer, i: range(extents[0]), j: range(extents[1])}
        shape = [len(list(v)) for v in values.values()]
        for item in ON_NESTS:
            assert item.propose is not None
            for new in item.propose(nest, here):
                count += 1
                found: list[tuple[np.ndarray, np.ndarray]] = []
                for stmt in (nest, new):
                    bad, out = list[np.ndarray](), list[np.ndarray]()
                    run(stmt, Grid(values), bad, out)
                    # a fault in one iteration is one of the whole
                    fault = np.any([np.broadcast_to(b, shape) for b in bad], axis=0).any(axis=(2, 3))
                    found.append((fault, np.array([np.broadcast_to(o, shape) for o in out])))
                (fault, old), (worse, other) = found
                wrong = ~fault & (worse | (old != other).any(axis=(0, 3, 4)))
                assert not wrong.any(), (item.name, to_script(nest), to_script(new), np.argwhere(wrong)[0])
    return count


def test_sums_in_nests_hold_at_the_limits() -> None:
    assert check_on_nests(range(40)) > 40


@pytest.mark.fuzz
def test_sums_in_many_nests_hold_at_the_limits() -> None:
    assert check_on_nests(range(3000)) > 3000


# The whole ------------------------------------------------------------------------------------------------------------


def check_whole(exprs: Iterator[Expr]) -> None:
    for expr in exprs:
        names = sorted(free_vars(expr), key=lambda v: v.name)
        grid = Grid({v: values_of(v.dtype, few=False) for v in names})
        new = simplify(expr)
        assert difference(expr, new, grid) is None, (to_script(expr), to_script(new))
        truth = prove(expr) if expr.dtype is DType.BOOL else None
        if truth is not None:
            assert difference(expr, const(truth, DType.BOOL), grid) is None, (to_script(expr), truth)


def test_simplify_and_prove_at_all_values() -> None:
    check_whole(itertools.islice(named(), 0, None, 3))
    check_whole(typed(text, DType.UINT8) for text in NAMED[:4])


@pytest.mark.fuzz
def test_simplify_and_prove_on_many_expressions() -> None:
    check_whole(drawn(range(3000)))


@pytest.mark.parametrize("text", some(["x + 1 <= y", "x > y // 2", "x - 1 < y", "x * 2 > y", "x + y < y"], 0.6))
def test_no_sum_of_isl_wraps_at_64_bits(text: str) -> None:
    expr = typed(text, DType.UINT64)
    new = simplify(expr)
    edges = (0, 1, 2, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1)
    for x, y in itertools.product(edges, edges):
        at: dict[Var, object] = {Var("x", DType.UINT64): x, Var("y", DType.UINT64): y}
        assert value(expr, at) == value(new, at), (to_script(new), x, y)


def test_64_bit_ranges_are_exact() -> None:
    here = anywhere()
    x = Var("x", DType.INT64)
    assert not here.contexts.total(here.facts, Unary("abs", x))
    positive = here.under(Binary("gt", x, const(DType.INT64.min, DType.INT64)), True)
    assert positive is not None
    assert positive.contexts.total(positive.facts, Unary("abs", x))


def test_what_a_name_stands_for_is_no_sum_of_isl() -> None:
    wrapping = typed("x + 1", DType.UINT8)
    holds = pb.symbol("?0").le_set(pb.symbol("y"))
    read = readback.condition(holds, {"?0": wrapping, "y": Var("y", DType.UINT8)})
    grid = Grid({Var(n, DType.UINT8): range(256) for n in "xy"})
    assert difference(Binary("le", wrapping, Var("y", DType.UINT8)), read, grid) is None


def test_isl_adds_unsigned_names_without_wrapping() -> None:
    x, y = (Var(n, DType.UINT8) for n in "xy")
    holds = pb.symbol("x").mul(pb.number(2)).gt_set(pb.symbol("y").add(pb.number(200)))
    read = readback.condition(holds, {"x": x, "y": y})
    found, _ = Grid({x: range(256), y: range(256)}).value(read)
    wide, other = np.arange(256)[:, None], np.arange(256)[None, :]
    assert (found == (2 * wide > other + 200)).all()
