"""Pallas kernels for what XLA does badly, and when one is worth having."""
