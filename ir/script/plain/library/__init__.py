"""Functions of Python, `math` and NumPy that plain programs may call, and what each of them is."""
