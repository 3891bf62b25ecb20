# SPDX-License-Identifier: MIT
"""Times one collective operation: mpirun -np N /usr/bin/python3 ranks.py allreduce|alltoall BYTES COUNT. The first rank prints the
seconds of COUNT operations; BYTES of each rank (allreduce), or from each to each (alltoall)."""

import sys
import time

from mpi4py import MPI


def main():
    name, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    world = MPI.COMM_WORLD
    each = size if name == "alltoall" else size // 8
    total = bytearray(size * (world.size if name == "alltoall" else 1))
    kind = MPI.BYTE if name == "alltoall" else MPI.DOUBLE
    sent, got = [bytes(len(total)), each, kind], [total, each, kind]
    operation = world.Alltoall if name == "alltoall" else world.Allreduce
    operation(sent, got)
    world.Barrier()
    began = time.monotonic()
    for _ in range(count):
        operation(sent, got)
    world.Barrier()
    if world.rank == 0:
        print(f"seconds={time.monotonic() - began:.3f}", flush=True)


if __name__ == "__main__":
    main()
