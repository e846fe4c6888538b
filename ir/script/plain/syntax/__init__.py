"""Syntax of plain Python programs that stands for other syntax."""
