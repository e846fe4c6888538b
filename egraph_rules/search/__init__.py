"""A program in the e-graph: numbering, saturation, extraction, and what is done between searches."""
