"""Testing of programs: strategies, refinement, counterexamples.

`loopsat.testing` (`lower/check/testing.py`) has what users need.
Only the modules of strategies and checks import hypothesis, so that programs run without it.
"""
