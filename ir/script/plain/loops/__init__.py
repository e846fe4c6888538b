"""Loops of plain Python programs: what they run over, how often they run, and how they are left."""
