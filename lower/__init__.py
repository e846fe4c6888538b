"""From loop programs to JAX: `compile`, `emit`, `export`, `stablehlo_text`.

The names load on first use, so that the command line can answer simple questions without waiting for JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lower.runtime.artefact import export, stablehlo_text
    from lower.runtime.kernel import Kernel, compile, emit
    from lower.runtime.structure import form, structure
    from lower.runtime.why_not import why_not

_HOMES = {
    "artefact": ("export", "stablehlo_text"),
    "kernel": ("Kernel", "compile", "emit"),
    "structure": ("form", "structure"),
    "why_not": ("why_not",),
}

__all__ = ["Kernel", "compile", "emit", "export", "form", "stablehlo_text", "structure", "why_not"]


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is not None:
        return getattr(importlib.import_module(f"lower.runtime.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
