"""Kernels over the devices of several processes, which exchange by the loopback address."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.fuzz)])
def test_processes_share_a_mesh(count: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "tests/lower/one_process.py", address, str(count)]
    running = [
        subprocess.Popen(
            [*command, str(k)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for k in range(count)
    ]
    try:
        said = [process.communicate(timeout=300)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    for process, text in zip(running, said, strict=True):
        assert process.returncode == 0 and "as expected" in text, "\n".join(said)
