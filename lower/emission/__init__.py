"""JAX source of plans: values, stores, statements, functions, modules, and passes over their lines."""
