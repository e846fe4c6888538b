"""How rules are written: patterns, and Python functions from statements and expressions."""
