"""Tensor idioms: what a sum over array axes may be instead, by rules in an e-graph of its own, chosen by price."""
