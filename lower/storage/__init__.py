"""Where values are kept: orders of dimensions, copies, expansion, contraction, promotion, forward substitution."""
