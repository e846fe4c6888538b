"""Prices: targets, the price of a program by its statements, and the order of programs by a price as a whole."""
