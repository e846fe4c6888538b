"""Instructions of users in emitted code: the function that computes one, and how it is mapped over axes.

The JAX text says how to compute an instruction, the body says what: before the text is first emitted, it is evaluated
on a few inputs and compared with the body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import InterpretError, LoopsatError, LowerError
from ir.functions import placeholder
from ir.instructions import jax_text, text_names, text_tree
from ir.later import later
from ir.nodes import PrimFunc
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.syntax import python_code
from ir.traverse import results_of
from lower.array.views import Axis
from lower.program.build import call, dotted, from_syntax
from lower.program.nodes import Function, JaxExpr, Name, Parameter, Return, substituted

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    from jax import lax
else:  # rules and forms are listed without it
    jax = later("jax")
    jnp = later("jax.numpy")
    lax = later("jax.lax")

_SAMPLES = 3
_HINT = "it must give what the written buffers hold after the body, for the arrays that buffers hold before it"


def instruction_code(name: str, func: PrimFunc) -> Function:
    """The function of an array program that computes an instruction, given what its text takes as arrays."""
    taken = text_names(func)
    names = [p.name for p in func.params if p.name in taken]
    text = substituted(from_syntax(text_tree(func)), {placeholder(p): Name(p) for p in names})
    return Function(name, tuple(map(Parameter, names)), (Return(text),), (dotted("jax.jit"),))


def over_axes(function: JaxExpr, operands: Sequence[tuple[Axis, ...]], axes: Sequence[Axis]) -> JaxExpr:
    """A function mapped over axes, the first of them outermost, which operands have in this order, if they do."""
    for axis in reversed(axes):
        mapped = tuple(0 if axis in own else None for own in operands)
        options = {} if all(m == 0 for m in mapped) else {"in_axes": mapped}
        function = call("jax.vmap", function, **options)
    return function


@lru_cache(maxsize=256)
def check_text(func: PrimFunc) -> None:
    """Compare the JAX text of an instruction with its body on a few inputs.

    Floats may differ by the square root of their precision, times the largest value. Inputs for which the body faults,
    and what it leaves undef, do not count.

    Raises:
        LowerError: the text fails, or gives another shape, dtype or value.
    """
    rng = np.random.default_rng(0)
    for _ in range(_SAMPLES):
        try:
            given = random_inputs(func, rng)
            wanted = interpret_with_undef(func, *(given[p.name] for p in func.params))
        except (InterpretError, LoopsatError):
            continue
        for buffer, found, (values, undef) in zip(results_of(func), _results(func, given), wanted, strict=True):
            if found.shape != values.shape or found.dtype != values.dtype:
                message = f"for {buffer.name} it gives {found.dtype}{list(found.shape)}, but the body "
                _refuse(func, f"{message}{values.dtype}{list(values.shape)}")
            at = _different(found, values, undef)
            if at is not None:
                place = f"{buffer.name}[{', '.join(map(str, at)) or '()'}]"
                _refuse(func, f"it gives {place} = {found[at]}, but the body gives {values[at]}")


def _different(found: Any, wanted: Any, undef: Any) -> tuple[int, ...] | None:
    """The first element in which results differ by more than rounding explains."""
    if wanted.dtype.kind == "f":
        known = wanted[~undef & np.isfinite(wanted)]
        scale = max(float(np.max(np.abs(known), initial=0.0)), 1.0)
        near = scale * float(np.sqrt(float(np.finfo(wanted.dtype).eps)))
        wrong = ~np.isclose(found, wanted, rtol=0.0, atol=near, equal_nan=True)
    else:
        wrong = found != wanted
    places = np.argwhere(wrong & ~undef)
    return tuple(int(k) for k in places[0]) if len(places) else None


def computed(func: PrimFunc, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """What the JAX text of an instruction gives for arguments by name; whatever it raises."""
    code = python_code(text_tree(func), "<jax>")
    wide = any(p.dtype.bits == 64 for p in func.params)
    with jax.ensure_compile_time_eval(), jax.enable_x64(wide):
        named = {placeholder(p.name): jnp.asarray(given[p.name], p.dtype.numpy) for p in func.params}
        found = eval(code, {"jax": jax, "jnp": jnp, "lax": lax, **named})  # a text that was vetted as pure
        return tuple(np.asarray(r) for r in (found if isinstance(found, tuple) else (found,)))


def _results(func: PrimFunc, given: Mapping[str, Any]) -> tuple[Any, ...]:
    try:
        return computed(func, given)
    except Exception as error:  # the user's code may raise anything
        _refuse(func, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", error)
        raise


def _refuse(func: PrimFunc, what: str, cause: Exception | None = None) -> None:
    message = f"the JAX text of {func.name}, {jax_text(func)!r}, is wrong: {what}"
    raise LowerError("jax-expression", message, func.span, help=_HINT) from cause
