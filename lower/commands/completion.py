"""`loopsat completion`: the script with which a shell completes commands and options, as argcomplete writes it."""

from __future__ import annotations

import argparse

from argcomplete.shell_integration import shellcode


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    print(shellcode(["loopsat"], shell=options.shell))
