"""Kernels: compilation, calls and their checks, several devices, artefacts, what is kept on disk."""
