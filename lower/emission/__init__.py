"""Array programs of plans: values, stores, statements, functions, and modules with what they are printed beside."""
