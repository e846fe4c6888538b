"""From loops to array axes: views, reads, reductions and element values as JAX source, one statement at a time."""
