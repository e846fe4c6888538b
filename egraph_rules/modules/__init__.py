"""Modules: layouts and padding of the buffers between functions, and what each function costs under them."""
