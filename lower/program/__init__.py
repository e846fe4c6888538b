"""The array program: JAX code as data, between the plan and the text."""
