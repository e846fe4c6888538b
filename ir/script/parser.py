"""Programs of the dialect: from Python source text to functions. Never executes the text.

Past and current spellings of TVMScript are read where they mean the same; the first construct that is not supported is
named with its place.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from keyword import kwlist

from ir.dtypes import DType, from_name
from ir.errors import ParseError, Span, expect, suggest
from ir.instructions import OPTIONS, check_instruction, is_instruction
from ir.nodes import Expr, Function, Module, PrimFunc, Var
from ir.script.definition import parse_definition
from ir.script.expressions import ExprParser, dialect_name
from ir.script.function import FunctionParser
from ir.script.kernels import Kernels
from ir.script.relax import is_graph, parse_graph
from ir.script.scope import Constant, Scope, Source
from ir.syntax import python_syntax

MAX_BYTES = 2_000_000  # a hand-written kernel has a few thousand; Python's own parser needs seconds beyond this
_JITS = ("jit", "njit", "vectorize", "guvectorize")  # of other libraries, and our own for plain functions
_MARK = "a kernel is a function under @T.prim_func (from ir import script as T), with types of its parameters"
_DECORATORS = ("prim_func", "instruction", "module", "ir_module")
_KERNELS = ("prim_func", "instruction")
_NOTHING: Mapping[str, Constant] = {}
_DIALECTS = ("script", "tir", "ir", "tirx")  # what `T` may be imported from


def parse(text: str, file: str = "<string>") -> Module:
    """All kernels in a Python text: functions under `@T.prim_func`, also inside classes under `@T.module`.

    Those under `@T.instruction` are kernels too.

    A graph under `@R.function` is read as a kernel that calls others.

    Other Python around them is ignored, except that names bound to numbers, strings or tuples at module level, and
    functions under `@T.function`, can be used in kernels.

    Raises:
        ParseError: no kernel, not Python, or not the dialect.
    """
    expect(text, str, "a program is parsed from text", "open the file with an encoding, or decode the bytes")
    if len(text) > MAX_BYTES:
        message = f"{file} has {len(text)} characters; at most {MAX_BYTES} are read"
        raise ParseError("too-large", message, help="put the kernels into a file of their own")
    text = text.removeprefix("\ufeff")
    tree = _python_tree(text, file)
    _rename_imports(tree)
    source = Source.of(text, file)
    constants = _with_functions(tree.body, source, _module_constants(tree))
    kernels = Kernels(owners=tuple(n.name for n in tree.body if isinstance(n, ast.ClassDef)))
    found: dict[str, ast.FunctionDef] = {}
    name = ""

    def add(nodes: Iterable[ast.stmt], known: Mapping[str, Constant]) -> None:
        for node in nodes:
            graph = isinstance(node, ast.FunctionDef) and is_graph(node)
            if not isinstance(node, ast.FunctionDef) or not (graph or _is_decorated(node, _KERNELS)):
                continue
            if node.name in found:
                message = f"two kernels are called {node.name}"
                raise ParseError("duplicate-name", message, source.span(node), help="rename one")
            found[node.name] = node
            read = partial(parse_graph, node, source) if graph else partial(parse_function, node, source, known)
            kernels.add(node.name, partial(read, kernels))

    top = [*_top_level(tree.body)]
    for node in top:
        if isinstance(node, ast.ClassDef) and _is_decorated(node, ("module", "ir_module")):
            name = node.name
            add(node.body, _with_functions(node.body, source, _module_constants(node, constants)))
        else:
            add((node,), constants)
    if not found:
        raise _no_kernel(tree, source)
    return Module(tuple(map(kernels.read, found)), name)


def _with_functions(nodes: list[ast.stmt], source: Source, constants: Mapping[str, Constant]) -> Mapping[str, Constant]:
    """The constants of a text and the functions that it defines, which may call those above them."""
    found = dict(constants)
    own: dict[str, Function] = {}
    for node in _top_level(nodes):
        if isinstance(node, ast.FunctionDef) and _defines_function(node):
            function = parse_definition(node, source, found, _options(node, source, found))
            if own.setdefault(node.name, function) != function:
                message = f"{node.name} is defined again, with another meaning"
                raise source.error("duplicate-name", message, node, help="rename one, or keep only one of them")
            found[node.name] = function
    return found


def _defines_function(node: ast.FunctionDef) -> bool:
    """Whether `@T.function` decorates; other libraries have decorators of that name."""
    targets = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    return any(isinstance(t, ast.Attribute) and dialect_name(t) == "function" for t in targets)


def _options(node: ast.FunctionDef, source: Source, constants: Mapping[str, Constant]) -> dict[str, object]:
    """The arguments of `@T.function(...)`, which must be constants."""
    options: dict[str, object] = {}
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call):
            continue
        if decorator.args:
            hint = "as in @T.function(cost=1.0)"
            raise source.error("arguments", "@T.function takes its options by name", decorator, help=hint)
        for keyword in decorator.keywords:
            name, value = keyword.arg, keyword.value
            known = None if name is None else _constant(value, constants)
            none = isinstance(value, ast.Constant) and value.value is None
            if name is None or (known is None and not none):
                message = f"`{ast.unparse(value)}` is no constant"
                raise source.error("arguments", message, value, help="write a number or a string")
            options[name] = known
    return options


def parse_function(
    node: ast.FunctionDef, source: Source, constants: Mapping[str, Constant], kernels: Kernels
) -> PrimFunc:
    """One kernel from its definition; `kernels` are those that it can call."""
    try:
        func = FunctionParser(source, constants, kernels).parse(node)
        if _is_decorated(node, ("instruction",)):
            _check_options(func, node, source)
        return func
    except RecursionError as error:
        raise source.error(
            "too-deep", f"{node.name} is nested too deeply to be read", node, help="split the expression or the loops"
        ) from error


def _check_options(func: PrimFunc, node: ast.FunctionDef, source: Source) -> None:
    place = node.decorator_list[0]
    for option, _ in func.attrs:
        if option not in OPTIONS:
            help = suggest(option, OPTIONS) or f"there are {', '.join(OPTIONS)}"
            raise source.error("arguments", f"@T.instruction has no option `{option}`", place, help=help)
    if not is_instruction(func):
        hint = 'write what computes it, as in @T.instruction(jax="{C} + {A} @ {B}"); a kernel without is a T.prim_func'
        raise source.error("arguments", f"the instruction {func.name} has no jax=", place, help=hint)
    check_instruction(func, ParseError)


def parse_expr(text: str, names: Mapping[str, str | DType | Function]) -> Expr:
    """An expression over variables whose dtypes are given by name, e.g. `{"x": "int32"}`, and functions given likewise.

    Raises:
        ParseError: the text or a dtype is not understood.
    """
    text = text.strip()
    source = Source.of(text, "<expression>")
    scope = Scope()
    for name, dtype in names.items():
        if isinstance(dtype, Function):
            scope.bindings[name] = dtype
            continue
        found = dtype if isinstance(dtype, DType) else from_name(dtype)
        if found is None:
            near = suggest(str(dtype), (d.value for d in DType))
            raise ParseError("unknown-dtype", f"`{dtype}`, given for {name}, is not a dtype", help=near)
        scope = scope.bind(name, Var(name, found))
    try:
        with warnings.catch_warnings(action="ignore"):
            node = python_syntax(text, "eval").body
        return ExprParser(source, scope).any(node)
    except ParseError:
        raise
    except SyntaxError as error:
        raise ParseError("syntax", f"this is not an expression: {error.msg}", _syntax_span(error, source)) from error
    except (RecursionError, MemoryError) as error:
        raise ParseError("too-deep", "the expression is nested too deeply to be read") from error
    except ValueError as error:
        raise ParseError("syntax", f"this is not an expression: {error}") from error


def _python_tree(text: str, file: str) -> ast.Module:
    """Python's syntax tree of a text, with syntax errors in our form."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of odd escapes, which Python code around kernels may have
            return python_syntax(text, file=file)
    except SyntaxError as error:
        span = _syntax_span(error, Source.of(text, file))
        message = f"{file} line {error.lineno or 1} is not Python: {error.msg}"
        raise ParseError("syntax", message, span, help=_syntax_help(error, span)) from error
    except (RecursionError, MemoryError) as error:
        hint = "split its expressions and nested statements"
        raise ParseError("too-deep", f"{file} is nested too deeply to be read as Python", help=hint) from error
    except ValueError as error:
        raise ParseError("syntax", f"{file} cannot be read as Python: {error}", help="pass a text file") from error


def _syntax_span(error: SyntaxError, source: Source) -> Span | None:
    line = min(max(error.lineno or 1, 1), len(source.lines))
    column = min(max((error.offset or 1) - 1, 0), len(source.lines[line - 1]))
    return source.span(ast.Pass(lineno=line, col_offset=column, end_lineno=line, end_col_offset=column + 1))


def _syntax_help(error: SyntaxError, span: Span | None) -> str:
    """What to correct in a text that is not Python."""
    if isinstance(error, TabError):
        return "indent with spaces only"
    for word in re.findall(r"[^\W\d]\w*", "" if span is None else span.text):
        meant = next((k for k in kwlist if k.lower() == word.lower()), word)
        if meant != word:
            return f"Python's keywords have a case of their own: write `{meant}` in place of `{word}`"
    return "correct the Python syntax"


def _top_level(nodes: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module, those under `if`, `try` and `with` included."""
    for node in nodes:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _top_level(node.body)
        if isinstance(node, (ast.If, ast.Try)):
            yield from _top_level(node.orelse)


def _no_kernel(tree: ast.Module, source: Source) -> ParseError:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _is_decorated(node, _KERNELS):
            return source.error(
                "no-kernel",
                f"{source.file} contains no kernel at its top level",
                node,
                help=f"move {node.name} out of the function or class, or mark the class with @T.module",
            )
    message = f"{source.file} contains no kernel"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.decorator_list:
            decorator = node.decorator_list[0]
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = (dialect_name(target) or "").rpartition(".")[2]
            if name in _JITS:
                hint = f"plain functions are for @loopsat.jit, and compiled when they are called; {_MARK}"
                return source.error("no-kernel", message, decorator, help=hint)
            if near := suggest(name, _DECORATORS):
                return source.error("no-kernel", message, decorator, help=near.replace("`", "`@T.", 1))
    return ParseError("no-kernel", message, help=_MARK)


def _is_decorated(node: ast.FunctionDef | ast.ClassDef, names: tuple[str, ...]) -> bool:
    """Whether one of the decorators, called or not, ends in one of `names`."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        dotted = dialect_name(target)
        if dotted is not None and dotted.rpartition(".")[2] in names:
            return True
    return False


def _rename_imports(tree: ast.Module) -> None:
    """Write `T` for whatever other name the file imports the dialect by."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.asname is not None and alias.name.rpartition(".")[2] in _DIALECTS:
                    names.add(alias.asname)
    for node in ast.walk(tree) if names else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            node.value.id = "T"


# Constants -----------------------------------------------------------------------------------------------------------


def _module_constants(tree: ast.Module | ast.ClassDef, outer: Mapping[str, Constant] = _NOTHING) -> dict[str, Constant]:
    """Names bound to literals, or to arithmetic over such names, at the top of a module or class; `outer` is known."""
    found = dict(outer)
    for node in tree.body:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _bind_constant(target, _constant(value, found), found)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _bind_constant(target, _constant(value, found), found)
            case ast.AugAssign(target=ast.Name(id=name)):
                found.pop(name, None)
            case _:
                pass
    return found


def _bind_constant(target: ast.expr, value: Constant | None, found: dict[str, Constant]) -> None:
    """Bind a name, or the names of a tuple; what is no constant unbinds, so that no stale value is used."""
    match target:
        case ast.Name(id=name):
            found.pop(name, None)
            if value is not None:
                found[name] = value
        case ast.Tuple(elts=elts):
            items = value if isinstance(value, tuple) and len(value) == len(elts) else (None,) * len(elts)
            for part, item in zip(elts, items, strict=True):
                _bind_constant(part, item, found)
        case _:
            pass


def _constant(node: ast.expr, known: Mapping[str, Constant]) -> Constant | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            items = [_constant(e, known) for e in elts]
            return None if any(i is None for i in items) else tuple(i for i in items if i is not None)
        case _:
            used = {n.id: known[n.id] for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in known}
            try:
                value = ExprParser(Source.of("", ""), Scope.of(used)).value(node)
            except (ParseError, RecursionError):
                return None
            return value if isinstance(value, (bool, int, float)) else None
