"""The process that holds the TPU compiler: reads programs, compiles each ahead of time, writes what came of it.

Runs by its path and imports nothing of this project. Argument: a file with a list of jobs, as JSON; for each job one
line of JSON is appended to the second file, so that a compiler that aborts loses only the programs it had not done.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding


def main(jobs: Path, results: Path) -> None:
    """Compile every job of a file."""
    devices: Any = topologies.get_topology_desc("v5e:2x2", platform="tpu").devices
    place = SingleDeviceSharding(devices[0])
    with results.open("a", encoding="utf-8") as out:
        for job in json.loads(jobs.read_text(encoding="utf-8")):
            out.write(json.dumps(_compiled(job, place)) + "\n")
            out.flush()


def _compiled(job: dict[str, Any], place: SingleDeviceSharding) -> dict[str, Any]:
    """What the compiler says of one program, or its error."""
    namespace: dict[str, Any] = {"__name__": "kernel"}
    arguments = {
        name: jax.ShapeDtypeStruct(tuple(shape), jax.numpy.dtype(dtype), sharding=place)
        for name, (shape, dtype) in job["arguments"].items()
    }
    try:
        with jax.enable_x64(job["wide"]):  # pyright: ignore[reportCallIssue]
            exec(job["source"], namespace)
            # Arguments that are not used keep their place, so that layouts can be told apart.
            compiled = jax.jit(namespace[job["function"]], keep_unused=True).lower(**arguments).compile()
    except Exception as error:  # JAX and the compiler raise what they like; the caller shows it
        return {"error": f"{type(error).__name__}: {error}"}
    memory: Any = compiled.memory_analysis()
    return {
        "argument_bytes": memory.argument_size_in_bytes,
        "output_bytes": memory.output_size_in_bytes,
        "temp_bytes": memory.temp_size_in_bytes,
        "hlo": compiled.as_text(),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
