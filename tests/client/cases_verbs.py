# SPDX-License-Identifier: MIT
"""Small programs of the public verbs (verbs_*.c), each against a device of its own."""

import functools
import os

from cases_server import as_nobody, need_reachable
from instance import Instance

PROGRAMS = ["verbs_rc", "verbs_errors", "verbs_cq", "verbs_events", "verbs_srq", "verbs_ud",
            "verbs_share", "verbs_pd", "verbs_wr", "verbs_dm", "verbs_dmah", "verbs_bad", "verbs_fork", "verbs_threads",
            "verbs_regions", "verbs_control"]


def verbs(build, name, **settings):
    with Instance(build, name, **settings) as instance:
        instance.run([os.path.join(build, "tests", "client", name)], timeout_s=240,
                     env={"RXE_TEST_COMMAND": instance.command_path})


CASES = {name: functools.partial(verbs, name=name) for name in PROGRAMS}
CASES["verbs_rc_ipv6"] = functools.partial(verbs, name="verbs_rc", address="::1")
CASES["verbs_rc_no_trains"] = functools.partial(verbs, name="verbs_rc", trains="off")
CASES["verbs_umem"] = functools.partial(verbs, name="verbs_umem", mlx5="on")
CASES["verbs_cycles"] = functools.partial(verbs, name="verbs_cycles", mlx5="on")
CASES["verbs_umem_off"] = functools.partial(verbs, name="verbs_umem")
CASES["verbs_share_no_vm"] = functools.partial(verbs, name="verbs_share", no_vm="1")


def share_shy(build):
    """The owner cannot be traced; as root it could nevertheless, so as somebody else."""
    env = {"RXE_TEST_SHY": "1"}
    prefix = as_nobody() if os.geteuid() == 0 else ()
    with Instance(build, "share_shy", prefix=prefix) as instance:
        need_reachable(instance, build)
        instance.run([os.path.join(build, "tests", "client", "verbs_share")], timeout_s=240, env=env)


CASES["verbs_share_shy"] = share_shy
