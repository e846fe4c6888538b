"""Rules as values, and their authoring as small Python functions. Owns the translation of patterns to egglog.

    @rule(on=SIGNED, because="a multiple of c adds exactly that many quotients")
    def floordiv_of_multiple(x: Term, y: Term, c: Number):
        return (x * c + y) // c, x + y // c, c > 0

Parameters are pattern variables: a `Term` matches any expression of the dtypes that `on` names, a `Truth` any boolean,
a `Number` a constant; arithmetic among numbers is computed while matching (where it overflows, there is no match). The
result is a pair (pattern, replacement), then side conditions: `defined(x)`, comparisons of numbers, or any boolean
expression over terms, which must be proven where the pattern stands:

    @rule(on=SIGNED, because="a common factor cancels")
    def floordiv_cancel(x: Term, m: Term):
        return (x * m) // m, x, m != 0

A replacement that reads a variable less often needs it defined, since two readings of undef may differ. Dropping a
computation that might fault is a refinement and is allowed, adding one never is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, get_args

from msgspec import Struct

from egraph_rules.engine.engine import Cell
from egraph_rules.engine.functions import function_number, operand_dtype
from ir.dtypes import DType, Kind
from ir.errors import RuleError, VerifyError, expect
from ir.floats import Floats
from ir.nodes import (
    Binary,
    BinaryOp,
    Call,
    Const,
    Expr,
    Operand,
    PrimFunc,
    Select,
    Stmt,
    Unary,
    UnaryOp,
    Var,
    as_expr,
    const,
)
from ir.operators import OWN, Named, is_singular, number
from ir.page import Section
from ir.shown import Shown
from ir.traverse import children, walk_expr, with_children

if TYPE_CHECKING:
    from egraph_rules.authoring.tensor import TensorTerms


class Kinds(Enum):
    """Dtypes that the operands of a pattern may have."""

    SIGNED = ("int",)
    INTEGER = ("int", "uint")
    FLOAT = ("float",)
    BOOL = ("bool",)
    ANY = ("int", "uint", "float", "bool")


Settles = Callable[[Stmt, Stmt, bool], bool]  # of a statement, what it became, and if nests may be instances


SIGNED, INTEGER, FLOAT, BOOL, ANY = Kinds.SIGNED, Kinds.INTEGER, Kinds.FLOAT, Kinds.BOOL, Kinds.ANY


class Term(Var, frozen=True, eq=False):
    """A pattern variable that matches any expression."""


class Number(Var, frozen=True, eq=False):
    """A pattern variable that matches a constant."""


class Truth(Var, frozen=True, eq=False):
    """A pattern variable that matches any boolean expression."""


class Own(Const, frozen=True, eq=False):
    """A number in a pattern that each dtype has its own of, such as its least; the value is that of a sample dtype."""

    name: Named = "zero"

    def of(self, dtype: DType) -> Const:
        """The number of a dtype."""
        return Const(number(self.name, dtype), dtype)


def own(name: Named, dtype: DType) -> Own:
    """A number by name, over a sample dtype."""
    return Own(number(name, dtype), dtype, name=name)


class Defined(Struct, frozen=True):
    """Side condition: `term` is not undef."""

    term: Expr


def defined(term: Expr) -> Defined:
    """Side condition: `term` is not undef."""
    return Defined(term)


class Rule(Shown, Struct, frozen=True):
    """One rule: its name (`<family>.<law>`), the law as users read it, why it holds, and what egglog runs.

    `pattern`, `replacement` and `conditions` are kept for checking; rules over statements have none of them.
    `dtype` is the one that operands must have, where functions that the rule calls fix it. `question` is the
    conjunction of conditions that need a proof, `asked` the variables in it. `propose` and `propose_expr` are the
    functions of rules written as in `egraph_rules.authoring.proposal`, which run in Python. Statements that a rule
    `settles` are worse than what it makes of them in any program: nothing else is tried on them. One that `speculates`
    changes arms of a branch for where they do not run; one that `cuts` makes several loops of one; one that `joins`
    makes one loop of several; one that `rolls` makes a loop of what was written out. One of an `instruction` looks at
    whole nests: it may apply to what a search leaves of one, as without its guards, where it did not before. `terms`
    are the two sides of a rule over tensor terms, which lowering uses and no search.
    """

    name: str
    law: str
    reason: str
    floats: Floats
    program: str
    kinds: Kinds = ANY
    pattern: Expr | None = None
    replacement: Expr | None = None
    conditions: tuple[Expr | Defined, ...] = ()
    question: Expr | None = None
    asked: tuple[Expr, ...] = ()
    dtype: DType | None = None
    propose: Callable[..., Iterable[Stmt]] | None = None
    propose_expr: Callable[..., Iterable[Expr]] | None = None
    settles: Settles | None = None
    speculates: bool = False
    cuts: bool = False
    joins: bool = False
    rolls: bool = False
    instruction: PrimFunc | None = None
    terms: TensorTerms | None = None

    def brief(self) -> str:
        """Its name and law."""
        return f"Rule {self.name}: {self.law}"

    def sections(self) -> Iterator[Section]:
        """Name, law, reason, and the float freedoms that it takes."""
        floats = (f"floats: {self.floats}",) if self.floats else ()
        yield Section(lines=(self.name, f"  {self.law}", f"  since {self.reason}", *(f"  {f}" for f in floats)))

    @property
    def in_engine(self) -> bool:
        """Whether egglog runs the rule in a search."""
        return self.propose is None and self.propose_expr is None and self.terms is None

    @property
    def family(self) -> str:
        return self.name.partition(".")[0]


_IN_EVERY_DTYPE = 127  # integers from zero to this are values of all integer dtypes
MAX_ASKED = 4  # columns of the engine's tables of questions

RuleFunction = Callable[..., tuple[Operand | Defined, ...]]

_SAMPLE = {"int": DType.INT32, "uint": DType.INT32, "float": DType.FLOAT32, "bool": DType.BOOL}


def rule(
    function: None = None,
    /,
    *,
    on: Kinds | None = None,
    because: str = "",
    family: str = "",
    floats: Floats = Floats.STRICT,
) -> Callable[[RuleFunction], Rule]:
    """Make a `Rule` of a function (see the module's docstring): `on` are the kinds of operands, `because` the reason.

    Raises:
        RuleError: the function does not return a pattern and a replacement, or kinds or a reason are not given.
    """
    if function is not None or on is None:
        what = "no kinds of operands" if function is None else "no kinds of operands and no reason"
        hint = 'write @rule(on=SIGNED, because="..."), with FLOAT, SIGNED, ... of egraph_rules.authoring.rule'
        raise RuleError("rule", f"a rule states {what}", help=hint)

    def build(function: RuleFunction) -> Rule:
        name = name_of(function, family, because)
        parts = _parts(function, on)
        if len(parts) < 2 or not isinstance(parts[0], Expr):
            raise RuleError("rule", f"rule {name} must return (pattern, replacement, *conditions)")
        pattern, replacement = parts[0], _result(parts[1], parts[0].dtype)
        conditions = tuple(c for c in parts[2:] if isinstance(c, (Expr, Defined)))
        law = " ".join(
            (
                f"{show(pattern)} = {show(replacement)}",
                *(["if " + ", ".join(map(show, conditions))] if conditions else []),
            )
        )
        question, asked = question_of(name, conditions)
        dtype = operand_dtype(name, (pattern, replacement, *(c for c in conditions if isinstance(c, Expr))))
        numbers = Floats.FINITE in floats and Floats.FINITE_UNDEF not in floats
        program = _Translator(name, on, dtype, numbers=numbers).translate(pattern, replacement, conditions, asked)
        return Rule(name, law, because, floats, program, on, pattern, replacement, conditions, question, asked, dtype)

    return build


def name_of(function: Callable[..., object], family: str, because: str) -> str:
    """The name of the rule that a function is: its family, or else its file, then its own name.

    Raises:
        RuleError: no reason is given.
    """
    name = f"{family or function.__module__.rpartition('.')[2]}.{function.__name__}"
    if because.strip() == "":
        raise RuleError("rule", f"rule {name} states no reason")
    return name


def _parts(function: RuleFunction, on: Kinds) -> tuple[Operand | Defined, ...]:
    """What the function of a rule returns, over the first dtype of its kinds that the functions it calls take."""
    expect(on, Kinds, "`on` says which dtypes a rule is about", "as in on=SIGNED, of egraph_rules.authoring.rule")
    names = {Kind.BOOL: "bool", Kind.INT: "int", Kind.UINT: "uint", Kind.FLOAT: "float"}
    refused: VerifyError | None = None
    for dtype in (_SAMPLE[on.value[0]], *(d for d in DType if names[d.kind] in on.value)):
        try:
            return function(*(_variable(p, dtype) for p in inspect.signature(function).parameters.values()))
        except VerifyError as error:
            refused = error if refused is None else refused
    assert refused is not None
    raise RuleError("rule", f"{function.__name__}: {refused.message}", refused.span, help=refused.help) from refused


def is_number(expr: Expr) -> bool:
    """Whether a part of a pattern is computed from constants alone."""
    return not any(isinstance(e, (Term, Truth)) for e in walk_expr(expr))


def question_of(name: str, conditions: tuple[Expr | Defined, ...]) -> tuple[Expr | None, tuple[Expr, ...]]:
    """The conjunction of the conditions that speak of terms, and the variables in it, in order of appearance."""
    parts = [c for c in conditions if isinstance(c, Expr) and not is_number(c)]
    asked: list[Expr] = []
    for expr in (e for part in parts for e in walk_expr(part)):
        if isinstance(expr, (Term, Truth, Number)) and not any(expr.same(e) for e in asked):
            asked.append(expr)
    if len(asked) > MAX_ASKED:
        raise RuleError("rule", f"the conditions of rule {name} speak of {len(asked)} variables; at most {MAX_ASKED}")
    if any(isinstance(e, Number) and e.dtype.is_float for e in asked):
        raise RuleError("rule", f"rule {name}: a condition over terms may not speak of float constants")
    return (reduce(lambda a, b: a & b, parts) if parts else None), tuple(asked)


def instantiate(expr: Expr, values: Mapping[str, Expr], dtype: DType) -> Expr:
    """A part of a pattern with expressions for its variables, constants taking `dtype`.

    `dtype` is that of the rule's operands; patterns are written with a sample of the dtypes they stand for.
    """
    match expr:
        case Var(name=name):
            return values[name]
        case Own():
            return expr.of(dtype)
        case Const(value=value):
            return expr if expr.dtype is DType.BOOL else const(value, dtype)
        case _:
            return with_children(expr, tuple(instantiate(e, values, dtype) for e in children(expr)))


def _variable(parameter: inspect.Parameter, dtype: DType) -> Expr:
    annotation = parameter.annotation  # a string under `from __future__ import annotations`
    match annotation if isinstance(annotation, str) else annotation.__name__:
        case "Number":
            return Number(parameter.name, dtype)
        case "Truth":
            return Truth(parameter.name, DType.BOOL)
        case _:
            return Term(parameter.name, dtype)


def _result(value: object, dtype: DType) -> Expr:
    if not isinstance(value, (Expr, int, float)):
        raise RuleError("rule", f"a replacement must be an expression or a number, not {type(value).__name__}")
    return as_expr(value, dtype)


def show(item: Expr | Defined) -> str:
    """A pattern in the notation of laws."""
    if isinstance(item, Defined):
        return f"{show(item.term)} defined"
    match item:
        case Own(name=name):
            return name
        case Const(value=value):
            return str(value)
        case Var(name=name):
            return name
        case Unary(op=op, operand=a):
            return f"{op}({show(a)})"
        case Binary(op=op, lhs=a, rhs=b):
            sign = _SIGNS.get(op)
            return f"({show(a)} {sign} {show(b)})" if sign is not None else f"{op}({show(a)}, {show(b)})"
        case Select(cond=c, then=a, other=b):
            return f"select({show(c)}, {show(a)}, {show(b)})"
        case Call(function=function, args=args):
            return f"{function.name}({', '.join(map(show, args))})"
        case _:
            return str(item)


_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "floormod": "%", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "and", "or": "or",
}  # fmt: skip


class _Translator:
    """Writes one egglog rule: the pattern flattened into atoms, numbers computed in the query.

    The freedom `finite` is about what programs read and compute. So where a rule takes it, its floats have to be
    `numbers`, whatever the author asks for: of other elements, which are never read, nobody says that they are finite.
    """

    def __init__(self, name: str, kinds: Kinds, dtype: DType | None, *, numbers: bool) -> None:
        self.name = name
        self.numbers = numbers
        self.kinds = kinds
        self.atoms: list[str] = [] if dtype is None else [f'(= t "{dtype}")']
        self.fresh = 0
        self.bound: dict[str, str] = {}

    def translate(
        self, pattern: Expr, replacement: Expr, conditions: tuple[Expr | Defined, ...], asked: tuple[Expr, ...]
    ) -> str:
        root = self._match(pattern)
        self._restrict_kind()
        for cond in conditions:
            if isinstance(cond, Defined):
                self.atoms.append(f"(defined {self.bound[show(cond.term)]})")
            elif is_number(cond):
                self._check(cond)
        terms = dict.fromkeys(e for e in walk_expr(pattern) if isinstance(e, Term) and e.dtype.is_float)
        needed = (f"(defined {self.bound[show(term)]})" for term in terms if self.numbers)
        self.atoms += [atom for atom in needed if atom not in self.atoms]
        if not asked:
            return self._rule(self.atoms, self._actions(root, replacement))
        row = self._row(asked)
        ask = self._rule(self.atoms, f"(ask_rule {row})", "?")
        self.atoms.append(f"(holds_rule {row})")
        return f"{ask}\n{self._rule(self.atoms, self._actions(root, replacement))}"

    def _rule(self, atoms: list[str], actions: str, suffix: str = "") -> str:
        return f'(rule ({" ".join(atoms)}) ({actions}) :name "{self.name}{suffix}")'

    def _row(self, asked: tuple[Expr, ...]) -> str:
        """The question's row: the rule, the facts, and expressions by number or constants by value."""
        cells: list[str] = []
        for k, variable in enumerate(asked):
            if isinstance(variable, Number):
                cells.append(f"n_{variable.name}")
            elif show(variable) not in self.bound:
                message = f"a condition of rule {self.name} speaks of {show(variable)}, which is not in its pattern"
                raise RuleError("rule", message)
            else:
                self.atoms.append(f"(= {self.bound[show(variable)]} (Ate f q{k}))")
                cells.append(f"q{k}")
        cells += ["0"] * (MAX_ASKED - len(asked))
        return f'"{self.name}" f {" ".join(cells)}'

    def _restrict_kind(self) -> None:
        if self.kinds is ANY:
            return
        if len(self.kinds.value) == 1:
            self.atoms.append(f'(kind t "{self.kinds.value[0]}")')
        else:
            self.atoms.append("(bounds t low high)")  # the integer dtypes are those with bounds
            if self.kinds is not INTEGER:
                raise RuleError("rule", f"rule {self.name}: no table for dtypes {self.kinds.value}")

    def _name(self) -> str:
        self.fresh += 1
        return f"v{self.fresh}"

    def _match(self, pattern: Expr) -> str:
        """Atoms that match `pattern`; returns the variable that holds its class."""
        key = show(pattern)
        if isinstance(pattern, (Term, Truth)) and key in self.bound:
            return self.bound[key]
        node = self._name()
        match pattern:
            case Number(name=name):  # equal numbers need not be one class, so a repeated one matches by value
                self.atoms.append(f"(= n_{name} ({self._value_of(pattern)} {node}))")
                self.bound.setdefault(key, node)
            case Var():
                self.bound[key] = node
            case Own():
                self.atoms.append(f"(= {self._own(pattern)} ({self._value_of(pattern)} {node}))")
            case Const():
                self.atoms.append(f"(= {_literal(pattern)} ({self._value_of(pattern)} {node}))")
            case Unary(op=op, operand=a):
                self.atoms.append(f'(= {node} (Un "{op}" {self._type(a)} {self._match(a)}))')
            case Binary(op=op, lhs=a, rhs=b):
                self.atoms.append(f'(= {node} (Bin "{op}" {self._type(a)} {self._match(a)} {self._match(b)}))')
            case Select(cond=c, then=a, other=b):
                arms = f"{self._match(a)} {self._match(b)}"
                self.atoms.append(f"(= {node} (Select {self._type(a)} {self._match(c)} {arms}))")
            case Call(function=function, args=args):
                matched = _list([self._match(a) for a in args])
                self.atoms.append(f"(= {node} (Call {function_number(function)} {matched}))")
            case _:
                raise RuleError("rule", f"rule {self.name}: {type(pattern).__name__} cannot stand in a pattern")
        return node

    def _type(self, operand: Expr) -> str:
        """The dtype column: that of the operands, one variable for the whole rule; bool is written out."""
        return '"bool"' if operand.dtype is DType.BOOL and self.kinds is not ANY else "t"

    def _own(self, expr: Own) -> str:
        """The variable for a number of the rule's dtype; where the engine cannot hold it, nothing matches."""
        atom = f'({"own_flt" if expr.dtype.is_float else "own_int"} "{expr.name}" t own_{expr.name})'
        if atom not in self.atoms:
            self.atoms.append(atom)
        return f"own_{expr.name}"

    def _value_of(self, expr: Expr) -> str:
        return "fval" if expr.dtype.is_float else "ival"

    def _check(self, cond: Expr) -> None:
        match cond:
            case Binary(op="and", lhs=a, rhs=b):
                self._check(a)
                self._check(b)
            case Binary(op="eq" | "ne" | "lt" | "le" | "gt" | "ge" as op, lhs=a, rhs=b):
                sign = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}[op]
                self.atoms.append(f"({sign} {self._number(a)} {self._number(b)})")
            case _:
                raise RuleError("rule", f"rule {self.name}: condition {show(cond)} is not a comparison of numbers")

    def _number(self, expr: Expr) -> str:
        """egglog arithmetic on constants, with floor division."""
        match expr:
            case Number(name=name):
                return f"n_{name}"
            case Const():
                return _literal(expr)
            case Binary(op=op, lhs=a, rhs=b):
                x, y = self._number(a), self._number(b)
                modulo = f"(% (+ (% {x} {y}) {y}) {y})"
                match op:
                    case "floormod":
                        return modulo
                    case "floordiv":
                        return f"(/ (- {x} {modulo}) {y})"
                    case "add" | "sub" | "mul":
                        return f"({_SIGNS[op]} {x} {y})"
                    case "min" | "max":
                        return f"({op} {x} {y})"
                    case _:
                        pass
            case Unary(op="neg", operand=a):
                return f"(- 0 {self._number(a)})"
            case _:
                pass
        raise RuleError("rule", f"rule {self.name}: {show(expr)} cannot be computed from constants")

    def _computed(self, expr: Expr) -> str:
        """A number computed in the query, within the range of the dtype when it is an integer's."""
        if isinstance(expr, Own):
            return self._own(expr)
        small = isinstance(expr, Const) and (not expr.dtype.is_integer or 0 <= expr.value <= _IN_EVERY_DTYPE)
        if isinstance(expr, Const) and small:
            return _literal(expr)
        if isinstance(expr, Number):
            return f"n_{expr.name}"
        name = self._name()
        self.atoms.append(f"(= {name} {self._number(expr)})")
        if expr.dtype.is_integer:
            if "(bounds t low high)" not in self.atoms:
                self.atoms.append("(bounds t low high)")
            self.atoms.append(f"(<= low {name})")
            self.atoms.append(f"(<= {name} high)")
        return name

    def _actions(self, root: str, replacement: Expr) -> str:
        if is_number(replacement):
            # A constant is a value of the class, never a member of it (see language.py).
            return f"(set ({self._value_of(replacement)} {root}) {self._computed(replacement)})"
        return f"(union {root} {self._build(replacement)})"

    def _build(self, expr: Expr) -> str:
        if isinstance(expr, Var) and show(expr) in self.bound:
            return self.bound[show(expr)]
        if is_number(expr):
            kind = '"bool"' if expr.dtype is DType.BOOL else "t"
            return f"({'Flt' if expr.dtype.is_float else 'Int'} {kind} {self._computed(expr)})"
        match expr:
            case Unary(op=op, operand=a):
                return f'(Un "{op}" {self._type(a)} {self._build(a)})'
            case Binary(op=op, lhs=a, rhs=b):
                return f'(Bin "{op}" {self._type(a)} {self._build(a)} {self._build(b)})'
            case Select(cond=c, then=a, other=b):
                return f"(Select {self._type(a)} {self._build(c)} {self._build(a)} {self._build(b)})"
            case Call(function=function, args=args):
                return f"(Call {function_number(function)} {_list([self._build(a) for a in args])})"
            case _:
                raise RuleError("rule", f"rule {self.name}: {show(expr)} cannot stand in a replacement")


def _list(items: list[str]) -> str:
    return reduce(lambda tail, item: f"(Cons {item} {tail})", reversed(items), "(Nil)")


def _literal(expr: Const) -> str:
    return repr(float(expr.value)) if expr.dtype.is_float else str(int(expr.value))


def kind_rows() -> list[tuple[str, str]]:
    """Rows of the table `kind`."""
    names = {Kind.BOOL: "bool", Kind.INT: "int", Kind.UINT: "uint", Kind.FLOAT: "float"}
    return [(d.value, names[d.kind]) for d in DType]


def regular_rows() -> Iterator[tuple[str, str]]:
    """Rows of the table `regular`: operators and functions that have a finite result for all finite operands."""
    for op, dtype in product((*get_args(BinaryOp), *get_args(UnaryOp)), DType):
        if not is_singular(op, dtype):
            yield op, dtype.value


def own_rows() -> dict[str, list[tuple[Cell, ...]]]:
    """Rows of the tables `own_int` and `own_flt`: numbers of each dtype, as far as the engine can hold them."""
    rows: dict[str, list[tuple[Cell, ...]]] = {"own_int": [], "own_flt": []}
    for name, dtype in product(OWN, DType):
        value = number(name, dtype)
        if dtype.is_float:
            if name != "ones":
                rows["own_flt"].append((name, dtype.value, float(value)))
        elif dtype.is_integer and value < 2**63:
            rows["own_int"].append((name, dtype.value, int(value)))
    return rows


def bound_rows() -> list[tuple[str, int, int]]:
    """Rows of the table `bounds`: integer dtypes whose range the engine's 64-bit integers hold."""
    return [(d.value, d.min, min(d.max, 2**63 - 1)) for d in DType if d.is_integer]
