"""Which names of JAX may stand in the text that a user gives for a function: pure ones, element by element.

In that of an instruction, which is given whole arrays, more may: products, reductions, rearrangements.

A script is parsed, not executed, and such a text comes with it: it is vetted as syntax before anything evaluates it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from ir.dtypes import DType
from ir.errors import suggest

_BOTH = """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil cos
cosh exp exp2 expm1 floor log log1p max min nextafter pow round sign sin sinh sqrt square tan tanh"""
_NUMPY = """absolute arccos arccosh arcsin arcsinh arctan arctan2 arctanh astype bitwise_count bitwise_invert
bitwise_left_shift bitwise_right_shift clip copysign deg2rad degrees divide equal fabs float_power floor_divide fmax
fmin fmod gcd greater greater_equal heaviside hypot i0 invert isfinite isinf isnan lcm ldexp left_shift less less_equal
log10 log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum mean minimum mod multiply
nan_to_num negative not_equal positive power prod rad2deg radians reciprocal remainder right_shift rint select signbit
sinc subtract sum true_divide trunc where"""
_LAX = """bessel_i0e bessel_i1e clamp clz convert_element_type digamma div eq erf erf_inv erfc ge gt igamma igammac
integer_pow is_finite le lgamma logistic lt mul ne neg population_count reciprocal rem rsqrt select shift_left
shift_right_arithmetic shift_right_logical sub"""
_NN = """celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid mish relu relu6 selu
sigmoid silu soft_sign softplus sparse_plus squareplus swish"""
_SPECIAL = """betaln digamma entr erf erfc erfinv expit gammaln i0 i0e i1 i1e log_ndtr logit ndtr ndtri xlog1py xlogy"""
_DTYPES = frozenset(d.value for d in DType)
_CONSTANTS = frozenset(("pi", "e", "inf", "nan", "euler_gamma", "newaxis", "bool_", *_DTYPES))
_NAMES = {
    "jnp": frozenset((*_BOTH.split(), *_NUMPY.split())) | _CONSTANTS,
    "lax": frozenset((*_BOTH.split(), *_LAX.split())),
    "jax.nn": frozenset(_NN.split()),
    "jax.scipy.special": frozenset(_SPECIAL.split()),
}
_ARRAYS_NUMPY = """all any arange argmax argmin argsort broadcast_to concatenate convolve correlate cummax cumprod
cumsum diag diff dot einsum expand_dims eye flip full_like hstack inner kron matmul matvec max median min moveaxis ones
ones_like outer pad prod ravel repeat reshape roll rot90 searchsorted sort split squeeze stack std sum swapaxes take
take_along_axis tensordot tile trace transpose tri tril triu var vdot vecdot vecmat vstack zeros zeros_like"""
_ARRAYS_LAX = """argmax argmin batch_matmul broadcast_in_dim concatenate conv_general_dilated cumlogsumexp cummax cummin
cumprod cumsum dot dot_general dynamic_slice dynamic_update_slice expand_dims iota pad reduce_max reduce_min reduce_sum
reshape rev slice sort squeeze top_k transpose"""
_ARRAYS = {
    "jnp": frozenset(_ARRAYS_NUMPY.split()),
    "lax": frozenset(_ARRAYS_LAX.split()),
    "jnp.linalg": frozenset(("cholesky", "inv", "norm", "solve")),
    "jax.nn": frozenset(("logsumexp", "log_softmax", "one_hot", "softmax", "standardize")),
    "jax.scipy.linalg": frozenset(("cho_solve", "solve_triangular")),
    "jax.scipy.special": frozenset(("logsumexp",)),
}
_ARRAY_METHODS = (
    "T", "argmax", "argmin", "cumsum", "dot", "flatten", "max", "mean", "min", "prod", "ravel", "reshape", "sum",
    "swapaxes", "transpose",
)  # fmt: skip
_SHORT = {"jax.numpy": "jnp", "jax.lax": "lax"}
_METHODS = ("astype", "clip", "round")
_SYNTAX = (
    ast.Expression, ast.Call, ast.keyword, ast.Attribute, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare,
    ast.BoolOp, ast.Tuple, ast.List, ast.Subscript, ast.Slice,
    ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context,
)  # fmt: skip


def is_pure(path: str) -> bool:
    """Whether a dotted name is that of a pure function of arrays, element by element."""
    module, _, word = path.rpartition(".")
    return word in _NAMES.get(_SHORT.get(module, module), ())


def impurity(tree: ast.expr, names: Collection[str], *, arrays: bool = False) -> str | None:
    """What in an expression over `names` is more than pure functions of arrays; None if nothing.

    They work element by element, but for those that take whole `arrays`.
    """
    for node in ast.walk(tree):
        if not isinstance(node, _SYNTAX):
            return f"`{ast.unparse(node)}` is more than calls and operators"
    return _problem(tree, names, arrays)


def _problem(node: ast.AST, names: Collection[str], arrays: bool) -> str | None:
    match node:
        case ast.Attribute() | ast.Name():
            path = _path(node)
            if path is not None:
                return _named(path, names, arrays)
            assert isinstance(node, ast.Attribute)
            if node.attr not in _methods(arrays):
                return f"the method `{node.attr}` is not one of {', '.join(_methods(arrays))}"
        case ast.BinOp(op=ast.Pow() | ast.LShift(), left=left, right=right) if not (_has_names(left, names)):
            return f"`{ast.unparse(node)}` is a number: write it out" if not _has_names(right, names) else None
        case ast.Constant(value=str() as text) if text not in _DTYPES and not arrays:
            return f"{text!r} is no dtype"
        case ast.Constant(value=bytes() | complex()):
            return f"`{ast.unparse(node)}` is no value of a kernel"
        case _:
            pass
    found = (_problem(child, names, arrays) for child in ast.iter_child_nodes(node))
    return next((problem for problem in found if problem is not None), None)


def _has_names(node: ast.AST, names: Collection[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))


def _path(node: ast.expr) -> str | None:
    """The dotted name that an expression is, if it is one."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            head = _path(value)
            return None if head is None else f"{head}.{attr}"
        case _:
            return None


def _methods(arrays: bool) -> tuple[str, ...]:
    return (*_METHODS, *_ARRAY_METHODS) if arrays else _METHODS


def _named(path: str, names: Collection[str], arrays: bool) -> str | None:
    if path in names:
        return None
    head, _, last = path.rpartition(".")
    if head in names:
        methods = _methods(arrays)
        return None if last in methods else f"the method `{last}` is not one of {', '.join(methods)}"
    module = _SHORT.get(head, head)
    modules = dict.fromkeys((*_NAMES, *(_ARRAYS if arrays else ())))
    if module not in modules:
        return f"`{path}` is not known; it may use {', '.join((*modules, *_SHORT))} and the parameters in braces"
    known = _NAMES.get(module, frozenset()) | (_ARRAYS.get(module, frozenset()) if arrays else frozenset())
    if last in known:
        return None
    near = suggest(last, known)
    what = "of arrays" if arrays else "that work element by element"
    return f"`{path}` is not among the pure functions {what}{f'; {near}' if near else ''}"
