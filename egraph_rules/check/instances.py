"""Random instances of the rules that have a pattern, each as a program that stores the pattern's value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product
from typing import cast

from msgspec import Struct, field

from egraph_rules.authoring.rule import (
    ANY,
    BOOL,
    FLOAT,
    INTEGER,
    SIGNED,
    Defined,
    Kinds,
    Number,
    Rule,
    Term,
    Truth,
    instantiate,
    is_number,
)
from egraph_rules.check.programs.values import ValueKind, interesting, pick_array, pick_value
from egraph_rules.check.trial import Trial
from ir.arith import ArithmeticFault, Scalar, fold_binary, fold_unary
from ir.dtypes import DType
from ir.floats import Floats
from ir.nodes import (
    FALSE,
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    PrimFunc,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
    const,
    seq,
)
from ir.semantics.inputs import Inputs
from ir.testing.draw import Source
from ir.testing.refinement import REACHED
from ir.traverse import all_exprs, children, free_vars, walk_expr, with_children

_SIGNED = (DType.INT32, DType.INT8, DType.INT64, DType.INT16)
_UNSIGNED = (DType.UINT8, DType.UINT32, DType.UINT64)
_FLOAT = (DType.FLOAT32, DType.FLOAT64, DType.FLOAT16)
DTYPES: dict[Kinds, tuple[DType, ...]] = {
    SIGNED: _SIGNED,
    INTEGER: (*_SIGNED, *_UNSIGNED),
    FLOAT: _FLOAT,
    BOOL: (DType.BOOL,),
    ANY: (*_SIGNED, *_UNSIGNED, *_FLOAT, DType.BOOL),
}
_EXTENT = 2
_NUMBERS = {0: 1, 1: 40, 2: 24, 3: 10, 4: 6}  # candidates for each of so many constants
_INT64 = DType.INT64
_TERMS = {
    "anything": ("scalar", "scalar", "load", "constant", "shared", "compound", "faulty"),
    "undef": ("scalar", "load"),
    "faults": ("scalar", "faulty", "faulty"),
    "ends": ("scalar", "scalar", "load", "shared"),
}
_VALUES: dict[str, ValueKind] = {"anything": "any", "undef": "any", "faults": "uneven", "ends": "ends"}
_UNDEF_TERMS = {
    "anything": ("local", "local", "undef", "outside"),
    "undef": ("local", "undef", "outside", "local"),
    "faults": ("undef",),
    "ends": (),
}


def pattern_variables(rule: Rule) -> tuple[Var, ...]:
    """The variables of a rule's pattern, in order of appearance."""
    assert rule.pattern is not None
    found: dict[str, Var] = {}
    for expr in walk_expr(rule.pattern):
        if isinstance(expr, (Term, Number, Truth)):
            found.setdefault(expr.name, expr)
    return tuple(found.values())


def number_value(expr: Expr, given: dict[str, Scalar]) -> Scalar | None:
    """The value of an expression over constants as the engine computes it: in 64 bits, without the operands' dtype."""
    match expr:
        case Const(value=v):
            return v
        case Var(name=name):
            return given[name]
        case Unary(op=op, operand=a):
            parts = (number_value(a, given),)
        case Binary(op=op, lhs=a, rhs=b):
            parts = (number_value(a, given), number_value(b, given))
        case _:
            return None
    if any(p is None for p in parts):
        return None
    dtype = DType.FLOAT64 if any(isinstance(p, float) for p in parts) else _INT64
    try:
        known = cast("tuple[Scalar, ...]", parts)
        return fold_unary(op, known[0], dtype) if len(known) == 1 else fold_binary(op, known[0], known[1], dtype)
    except ArithmeticFault:
        return None


class Instances(Struct, dict=True):
    """Makes instances of one rule."""

    rule: Rule
    _numbers: dict[DType, tuple[tuple[Scalar, ...], ...]] = field(
        default_factory=lambda: dict[DType, tuple[tuple[Scalar, ...], ...]]()
    )

    def __post_init__(self) -> None:
        self.variables: tuple[Var, ...] = pattern_variables(self.rule)

    def make(self, source: Source) -> list[Trial]:
        """Two programs that store the value of the pattern and of the replacement; none if no constants fit."""
        rule = self.rule
        dtype = source.pick(*DTYPES[rule.kinds]) if rule.dtype is None else rule.dtype
        combinations = self._constants(dtype)
        if not combinations:
            return []
        instance = _Instance(source, dtype, rule.floats)
        names = (v.name for v in self.variables if isinstance(v, Number))
        given = dict(zip(names, source.pick(*combinations), strict=True))
        return [self._trial(instance, given, self._terms(instance))]

    def given(self, dtype: DType, chosen: Mapping[str, Scalar | None], faults: Collection[str]) -> Trial | None:
        """The instance with these values, None being undef, and terms that fault; None if the constants do not fit."""
        constants = {v.name: chosen[v.name] for v in self.variables if isinstance(v, Number)}
        numbers = {name: value for name, value in constants.items() if value is not None}
        if not self._fits(dtype, numbers):
            return None
        instance = _Instance(_First(), dtype, self.rule.floats)
        terms: dict[str, Expr] = {}
        for variable in self.variables:
            if variable.name not in numbers:
                boolean = isinstance(variable, Truth) or variable.dtype is DType.BOOL
                own = DType.BOOL if boolean else dtype
                name = variable.name
                terms[name] = instance.failing(name, own) if name in faults else instance.fixed(name, own, chosen[name])
        return self._trial(instance, numbers, terms)

    def _trial(self, instance: _Instance, given: dict[str, Scalar], terms: dict[str, Expr]) -> Trial:
        rule, dtype = self.rule, instance.dtype
        assert rule.pattern is not None
        assert rule.replacement is not None
        exprs = {n: const(v, dtype) for n, v in given.items()} | terms
        before = instantiate(rule.pattern, exprs, dtype)
        after = instantiate(self._settled(rule.replacement, dtype, given), exprs, dtype)
        assumed = None
        if rule.question is not None:  # the prover knows mathematical integers
            wide = _INT64 if dtype.is_signed and rule.dtype is None else dtype
            widened = {n: e if e.dtype is wide or e.dtype is DType.BOOL else Cast(wide, e) for n, e in exprs.items()}
            assumed = instantiate(rule.question, widened, wide)
        return instance.trial(rule.name.rpartition(".")[2], before, after, assumed)

    def _terms(self, instance: _Instance) -> dict[str, Expr]:
        needed = [c.term for c in self.rule.conditions if isinstance(c, Defined)]
        out: dict[str, Expr] = {}
        for variable in self.variables:
            if not isinstance(variable, Number):
                boolean = isinstance(variable, Truth) or variable.dtype is DType.BOOL
                dtype = DType.BOOL if boolean else instance.dtype
                out[variable.name] = instance.term(variable.name, dtype, defined=any(variable.same(n) for n in needed))
        return out

    def _constants(self, dtype: DType) -> tuple[tuple[Scalar, ...], ...]:
        """Values of the rule's constants that its conditions allow and whose results have the dtype."""
        if dtype not in self._numbers:
            numbers = [v for v in self.variables if isinstance(v, Number)]
            candidates = interesting(dtype, self.rule.floats)[: _NUMBERS.get(len(numbers), 4)]
            if len(numbers) > 2 and dtype.is_integer:
                candidates = (*candidates[:-1], dtype.max)
            candidates = tuple(c for c in candidates if c == c)
            names = [v.name for v in numbers]
            self._numbers[dtype] = tuple(
                combination
                for combination in product(candidates, repeat=len(numbers))
                if self._fits(dtype, dict(zip(names, combination, strict=True)))
            )
        return self._numbers[dtype]

    def _fits(self, dtype: DType, given: dict[str, Scalar]) -> bool:
        conditions = [c for c in self.rule.conditions if isinstance(c, Expr) and is_number(c)]
        if not all(number_value(c, given) for c in conditions):
            return False
        assert self.rule.replacement is not None
        for part in _computed(self.rule.replacement):
            result = number_value(part, given)
            if result is None or (dtype.is_integer and not dtype.min <= result <= dtype.max):
                return False
        return True

    def _settled(self, expr: Expr, dtype: DType, given: dict[str, Scalar]) -> Expr:
        """A replacement with what is computed from constants computed."""
        if not isinstance(expr, (Const, Var)) and is_number(expr):
            result = number_value(expr, given)
            assert result is not None
            return Const(result, dtype if expr.dtype is not DType.BOOL else DType.BOOL)
        return with_children(expr, tuple(self._settled(e, dtype, given) for e in children(expr)))


def _computed(expr: Expr) -> list[Expr]:
    """The largest parts of a replacement that are computed from constants."""
    if is_number(expr):
        return [] if isinstance(expr, (Const, Var)) else [expr]
    return [part for e in children(expr) for part in _computed(e)]


class _First(Source):
    """The simplest decisions."""

    def integer(self, low: int, high: int) -> int:
        del high
        return low


class _Instance:
    """One program under construction: its parameters with their values."""

    def __init__(self, source: Source, dtype: DType, floats: Floats) -> None:
        self.source = source
        self.dtype = dtype
        self.floats = floats
        # Examples differ in what they are about, since several rare things have to meet to break a rule.
        self.about = source.pick("anything", "undef", "faults", "ends", "anything")
        self.params: dict[str, Var | Buffer] = {}
        self.inputs: Inputs = {}
        self.loop = Var("i", DType.INT32) if source.flag(4) else None
        self.local: list[Buffer] = []

    def term(self, name: str, dtype: DType, *, defined: bool) -> Expr:
        """A random expression for a pattern variable."""
        kinds = _TERMS[self.about]
        if not defined:
            kinds = (*kinds, *_UNDEF_TERMS[self.about])
        index = const(0, DType.INT32) if self.loop is None else self.loop
        match self.source.pick(*kinds):
            case "load":
                return self.buffer(name, dtype)[index]
            case "constant":
                return const(pick_value(self.source, dtype, self.floats, kind=_VALUES[self.about]), dtype)
            case "shared":
                same = [p for p in self.params.values() if isinstance(p, Var) and p.dtype is dtype]
                return self.source.pick(*same) if same else self.scalar(name, dtype)
            case "compound":
                return self.compound(name, dtype)
            case "faulty":
                return self.faulty(name, dtype)
            case "local":
                local = Buffer(f"local_{name}", (const(_EXTENT, DType.INT32),), dtype)
                self.local.append(local)
                return local[index]
            case "outside":
                return self.buffer(name, dtype)[const(_EXTENT, DType.INT32)]
            case "undef":
                return Undef(dtype)
            case _:
                return self.scalar(name, dtype)

    def fixed(self, name: str, dtype: DType, value: Scalar | None) -> Expr:
        """A parameter with a value, or an element that is undef."""
        if value is None:
            self.local.append(Buffer(f"local_{name}", (const(_EXTENT, DType.INT32),), dtype))
            return self.local[-1][0]
        var = self.scalar(name, dtype)
        self.inputs[var.name] = value
        return var

    def failing(self, name: str, dtype: DType) -> Expr:
        """An expression that faults for the parameter's value."""
        expr = self.faulty(name, dtype)
        for var in free_vars(expr):
            self.inputs[var.name] = 0
        return expr

    def scalar(self, name: str, dtype: DType) -> Var:
        """A parameter."""
        name = f"{name}_" if name in ("i", "out") else name
        if name not in self.params:
            self.params[name] = Var(name, dtype)
            self.inputs[name] = pick_value(self.source, dtype, self.floats, kind=_VALUES[self.about])
        return Var(name, dtype)

    def buffer(self, name: str, dtype: DType) -> Buffer:
        """A buffer parameter."""
        buffer = Buffer(f"data_{name}", (const(_EXTENT, DType.INT32),), dtype)
        if buffer.name not in self.params:
            self.params[buffer.name] = buffer
            self.inputs[buffer.name] = pick_array(self.source, (_EXTENT,), dtype, self.floats, kind=_VALUES[self.about])
        return buffer

    def compound(self, name: str, dtype: DType) -> Expr:
        """An operation on a parameter."""
        if dtype is DType.BOOL:
            number = self.scalar(f"{name}_n", DType.INT32)
            return self.source.pick(number < 1, number >= 0, number % 2 == 0)
        var = self.scalar(name, dtype)
        return self.source.pick(var + 1, var * 2, Binary("max", var, const(1, dtype)))

    def faulty(self, name: str, dtype: DType) -> Expr:
        """An expression that faults for some values."""
        if dtype is DType.BOOL:
            return 4 // self.scalar(f"{name}_n", DType.INT32) > 1
        var = self.scalar(name, dtype)
        return 4 // var if dtype.is_integer else Binary("div", const(1.0, dtype), var)

    def trial(self, name: str, before: Expr, after: Expr, assumed: Expr | None) -> Trial:
        """Programs that store one value or the other, and one that tells whether the store is reached."""
        shape = () if self.loop is None else (const(_EXTENT, DType.INT32),)
        out = Buffer("out", shape, before.dtype)
        guard = self.scalar("guard", DType.BOOL) if self.source.flag(6) else None
        place = () if self.loop is None else (self.loop,)
        funcs: list[PrimFunc] = []
        for store in (Store(out, place, before), Store(out, place, after), Assert(FALSE, REACHED)):
            if assumed is not None:
                store: Stmt = seq(Assume(assumed), store)
            body = store if guard is None else If(guard, store, SKIP)
            if self.loop is not None:
                body = For(self.loop, const(0, DType.INT32), const(_EXTENT, DType.INT32), body)
            funcs.append(self._function(name, body, before, after, assumed, guard, out))
        inputs = {n: v for n, v in self.inputs.items() if any(p.name == n for p in funcs[0].params)}
        inputs["out"] = pick_array(self.source, out_shape(out), out.dtype, self.floats)
        return Trial(funcs[0], funcs[1], inputs, self.floats, equal=True, probe=lambda: funcs[2])

    def _function(
        self, name: str, body: Stmt, before: Expr, after: Expr, assumed: Expr | None, guard: Expr | None, out: Buffer
    ) -> PrimFunc:
        read = {e for top in (before, after, assumed, guard) if top is not None for e in walk_expr(top)}
        loaded = {e.buffer for e in read if isinstance(e, Load)}
        for local in self.local:
            if any(isinstance(e, Load) and e.buffer == local for e in all_exprs(body)):
                body = Alloc(local, body)
        params = tuple(p for p in self.params.values() if p in (loaded if isinstance(p, Buffer) else read))
        return PrimFunc(name, (*params, out), body)


def out_shape(buffer: Buffer) -> tuple[int, ...]:
    """The shape of a buffer whose extents are constants."""
    return tuple(int(e.value) for e in buffer.shape if isinstance(e, Const))
