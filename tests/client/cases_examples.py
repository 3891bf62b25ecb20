# SPDX-License-Identifier: MIT
"""The examples: each runs, ends well, and says what docs/EXAMPLES.md shows of it."""

import functools
import os
import re

from instance import Instance
from program import Failure

SAID = {
    "dm_atomics": ["counter: 4000 after 4 clients of 1000 each", "from 0 to|client: 1000 tickets"],
    "dm_share": ['finds "hello from the first"', 'now finds "bytes of the first process"'],
    "parent_domain": ["from the arena at 0", "take your own", "1 given, 1 returned",
                      '"Device or resource busy", the thread domain "Device or resource busy"'],
    "memory_window": ["ibv_dereg_mr says: Device or resource busy", 'wrote "request 2", and its key is dead',
                      "with the last key: remote access error"],
    "flow": ["60 bytes for port 1000, success, flow tag 42", "60 bytes for port 3000, success, flow tag 0"],
    "umem_share": ['read by RDMA: "memory of the first process"'],
    "dmah": ["CPU 0, PH 2", "ibv_dealloc_dmah says: Device or resource busy", "PH 4.: refused"],
}


def example(build, name, **settings):
    with Instance(build, name, **settings) as instance:
        args = [os.path.join(build, "examples", name)]
        if name == "dmah":
            args.append(f"{instance.command_path} show | grep -A2 DMAH")
        said = instance.run(args)
        for line in SAID[name]:
            if not re.search(line, said):
                raise Failure(f"{name} did not say '{line}'")


CASES = {f"example_{name}": functools.partial(example, name=name) for name in SAID}
CASES["example_umem_share"] = functools.partial(example, name="umem_share", mlx5="on")
CASES["example_dm_share_no_vm"] = functools.partial(example, name="dm_share", no_vm="1")
