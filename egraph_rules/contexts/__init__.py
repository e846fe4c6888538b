"""What is known at a place and what may be spoiled there: contexts, proofs under them, and the provers behind."""
