"""Random programs that rules apply to, and inputs for them."""
