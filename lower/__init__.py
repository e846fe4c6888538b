"""Lowering to JAX: compiled kernels, readable source, export."""

from lower.kernel import Kernel, compile, emit, export, stablehlo_text

__all__ = ["Kernel", "compile", "emit", "export", "stablehlo_text"]
