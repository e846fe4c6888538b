"""From loop programs to JAX: `compile`, `emit`, `export`, `stablehlo_text`.

The names load on first use, so that the command line can answer simple questions without waiting for JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lower.runtime.artefact import export, stablehlo_text
    from lower.runtime.kernel import Kernel, compile, emit

__all__ = ["Kernel", "compile", "emit", "export", "stablehlo_text"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = "artefact" if name in ("export", "stablehlo_text") else "kernel"
        return getattr(importlib.import_module(f"lower.runtime.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
