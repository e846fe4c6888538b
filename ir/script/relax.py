"""Graphs of calls as TVM's Relax writes them, read as a kernel that calls kernels in destination-passing style.

    @R.function
    def main(x: R.Tensor((16, 14), "float32")):
        with R.dataflow():
            h = R.call_tir(cls.conv, (x,), out_sinfo=R.Tensor((16, 12), "float32"))
            R.output(h)
        return h

What `R.call_tir` makes is a local buffer; what the function returns is a parameter after the others.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ir.dtypes import DType
from ir.naming import unused
from ir.nodes import Buffer, CallStmt, Expr, PrimFunc, Stmt, Var, const
from ir.program.scopes import allocated
from ir.script.expressions import ExprParser, dialect_name
from ir.script.kernels import Kernels
from ir.script.scope import Scope, Source
from ir.sections import Section
from ir.syntax import python_syntax

_ROOTS = ("R", "relax")
_HINT = 'a graph has bindings `y = R.call_tir(cls.kernel, (x,), out_sinfo=R.Tensor((16,), "float32"))` and a return'


def relax_name(node: ast.expr) -> str | None:
    """`call_tir` for `R.call_tir`; None for what is no name of Relax."""
    root, _, rest = (dialect_name(node) or "").partition(".")
    return rest.rpartition(".")[2] if root in _ROOTS and rest else None


def is_graph(node: ast.FunctionDef) -> bool:
    """Whether a function is under `@R.function`."""
    targets = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    return any(relax_name(t) == "function" for t in targets)


def parse_graph(node: ast.FunctionDef, source: Source, kernels: Kernels) -> PrimFunc:
    """The kernel that a graph stands for.

    Raises:
        ParseError: a statement, operator or type that is not read.
    """
    return _Graph(source, kernels).parse(node)


class _Graph:
    def __init__(self, source: Source, kernels: Kernels) -> None:
        self.source = source
        self.kernels = kernels
        self.buffers: dict[str, Buffer] = {}  # by the author's names; several may be one buffer
        self.sizes: dict[str, Var] = {}
        self.taken: set[str] = set()
        self.made: list[Buffer] = []
        self.calls: list[Stmt] = []
        self.returned: ast.expr | None = None

    def parse(self, node: ast.FunctionDef) -> PrimFunc:
        for stmt in ast.walk(node):
            self._declare(stmt)
        params: list[Var | Buffer] = []
        for arg in node.args.args:
            if arg.annotation is None:
                message = f"`{arg.arg}` has no type"
                raise self.source.error("annotation", message, arg, help='as in x: R.Tensor((16,), "float32")')
            buffer = self._tensor(arg.arg, arg.annotation)
            self.buffers[arg.arg] = buffer
            params.append(buffer)
        for stmt in node.body:
            self._stmt(stmt)
        results = self._results(node, params)
        local = [b for b in self.made if b not in results]
        body = allocated(local, self.calls)
        return PrimFunc(node.name, (*params, *results), body, (), self.source.span(node))

    def _results(self, node: ast.FunctionDef, params: Sequence[Var | Buffer]) -> list[Buffer]:
        value = self.returned
        if value is None:
            raise self.source.error("unsupported", f"{node.name} returns nothing", node, help=_HINT)
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        results = [self._named(part) for part in parts]
        for result, part in zip(results, parts, strict=True):
            if result in params or sum(r == result for r in results) > 1:
                message = f"`{ast.unparse(part)}` is returned as it came in, or twice"
                raise self.source.error("unsupported", message, part, help="copy it with a kernel, and return the copy")
        return results

    def _declare(self, stmt: ast.AST) -> None:
        """Sizes: `n = T.int64()`, and those named by strings in shapes."""
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[], keywords=[])):
                dtype = dialect_name(func)
                if dtype in ("int32", "int64"):
                    self.sizes[name] = Var(name, DType(dtype), self.source.span(stmt))
            case ast.Call(func=func, args=[ast.Tuple(elts=elts), *_]) if relax_name(func) == "Tensor":
                for extent in elts:
                    if isinstance(extent, ast.Constant) and isinstance(extent.value, str):
                        self.sizes.setdefault(extent.value, Var(extent.value, DType.INT64, self.source.span(extent)))
            case _:
                pass

    def _tensor(self, name: str, note: ast.expr) -> Buffer:
        """The buffer that `R.Tensor((16, n), "float32")` describes."""
        if not isinstance(note, ast.Call) or relax_name(note.func) != "Tensor" or not note.args:
            shown = ast.unparse(note)
            message = f"`{shown}` is no tensor of known shape"
            raise self.source.error("annotation", message, note, help='write R.Tensor((16, 14), "float32")')
        given = dict(zip(("shape", "dtype"), note.args, strict=False)) | {k.arg: k.value for k in note.keywords}
        parser = self._parser()
        shape = given["shape"]
        extents = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
        dtype = parser.dtype_of(given["dtype"]) if "dtype" in given else DType.FLOAT32
        sizes = tuple(self._extent(e, parser) for e in extents)
        new = unused(name, {*self.taken, *self.sizes})
        self.taken.add(new)
        return Buffer(new, sizes, dtype, span=self.source.span(note))

    def _extent(self, node: ast.expr, parser: ExprParser) -> Expr:
        match node:
            case ast.Constant(value=str() as text):
                try:
                    return parser.integer(python_syntax(text, "eval").body, "an extent")
                except SyntaxError as error:
                    message = f"`{text}` is no extent"
                    raise self.source.error("syntax", message, node, help='as in R.Tensor(("n", 4))') from error
            case ast.Constant(value=int() as number):
                return const(number, DType.INT32)
            case _:
                return parser.integer(node, "an extent")

    def _parser(self) -> ExprParser:
        scope = Scope()
        for name, var in self.sizes.items():
            scope = scope.bind(name, var)
        return ExprParser(self.source, scope)

    # Statements ------------------------------------------------------------------------------------------------------

    def _stmt(self, stmt: ast.stmt) -> None:
        match stmt:
            case ast.With(items=[ast.withitem(context_expr=ast.Call(func=func))], body=body) if relax_name(func) == (
                "dataflow"
            ):
                for inner in body:
                    self._stmt(inner)
            case ast.Expr(value=ast.Call(func=func)) if relax_name(func) in ("output", "func_attr"):
                pass
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                self._bind(name, value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
                made = self._value([n.id if isinstance(n, ast.Name) else "t" for n in names], value)
                for target, buffer in zip(names, made, strict=False):
                    self.buffers[ast.unparse(target)] = buffer
            case ast.Return(value=ast.expr() as value):
                self.returned = value
            case _:
                first = ast.unparse(stmt).splitlines()[0]
                raise self.source.error("unsupported", f"`{first}` is not read in a graph", stmt, help=_HINT)

    def _bind(self, name: str, value: ast.expr) -> None:
        if name in self.sizes or (isinstance(value, ast.Name) and self.kernels.owns(value.id)):
            return  # `n = T.int64()` and `cls = Module`
        if isinstance(value, (ast.Name, ast.Subscript)):
            self.buffers[name] = self._named(value)
        else:
            made = self._value([name], value)
            for k, buffer in enumerate(made):
                self.buffers[name if len(made) == 1 else f"{name}[{k}]"] = buffer

    def _named(self, node: ast.expr) -> Buffer:
        found = self.buffers.get(ast.unparse(node))
        if found is None:
            message = f"`{ast.unparse(node)}` is no tensor of the graph"
            raise self.source.error("unknown-name", message, node, help=f"it has {', '.join(self.buffers)}")
        return found

    def _value(self, names: Sequence[str], value: ast.expr) -> list[Buffer]:
        """The buffers that a call of a kernel makes."""
        if not isinstance(value, ast.Call) or relax_name(value.func) != "call_tir":
            message = f"`{ast.unparse(value)}` is not read: only calls of kernels are"
            raise self.source.error("unsupported", message, value, help=_HINT)
        given = dict(zip(("func", "args", "out_sinfo"), value.args, strict=False))
        given |= {str(k.arg): k.value for k in value.keywords}
        for needed in ("func", "args", "out_sinfo"):
            if needed not in given:
                raise self.source.error("arguments", f"R.call_tir needs `{needed}`", value, help=_HINT)
        kernel = self.kernels.named(given["func"])
        if kernel is None:
            message = f"`{ast.unparse(given['func'])}` is no kernel of the module"
            raise self.source.error("unknown-function", message, given["func"], help=_HINT)
        callee = self.kernels.callee(kernel, given["func"], self.source)
        inputs = [self._named(e) for e in _items(given["args"])]
        outs = _items(given["out_sinfo"])
        labels = names if len(names) == len(outs) else [f"{names[0]}_{k}" for k in range(len(outs))]
        made = [self._tensor(name, note) for name, note in zip(labels, outs, strict=True)]
        scalars = [self._parser().integer(e, "a size") for e in self._sizes(given.get("tir_vars"))]
        args = (*map(Section.whole, (*inputs, *made)), *scalars)
        if len(args) != len(callee.params):
            message = f"{callee.name} takes {len(callee.params)} arguments, {len(args)} given"
            raise self.source.error("arguments", message, value, help=f"it is {callee.signature}")
        self.made += made
        self.calls.append(CallStmt(callee, args, self.source.span(value)))
        return made

    def _sizes(self, node: ast.expr | None) -> Sequence[ast.expr]:
        """The scalars of `tir_vars=R.shape([n])`."""
        if node is None:
            return ()
        return _items(node.args[0] if isinstance(node, ast.Call) and node.args else node)


def _items(node: ast.expr) -> Sequence[ast.expr]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
