"""Loop programs over a mesh: what each device computes, and what devices exchange (owner computes)."""
