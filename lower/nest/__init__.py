"""Loop nests as they will run: their nodes, the normal form that all of lowering starts from, and their bounds."""
