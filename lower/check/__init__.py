"""Whether a kernel computes what its program says."""
