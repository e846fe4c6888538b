"""Clocks: timing, measured choices, and the measurements that prices come from."""
