"""`loopsat completion`: the script with which a shell completes commands and options, as argcomplete writes it."""

from __future__ import annotations

import argparse

import argcomplete


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    print(argcomplete.shellcode(["loopsat"], shell=options.shell))
