"""From loops to array axes: views, reads, reductions and element values as JAX code, one statement at a time."""
