"""Other forms of loops: split, blocked, skewed, unrolled, merged, versioned; which of them a plan takes."""
