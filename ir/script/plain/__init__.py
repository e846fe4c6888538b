"""Plain Python functions of loops over arrays, as people write them for numba, as loop programs."""
