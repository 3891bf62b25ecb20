# SPDX-License-Identifier: MIT
"""What an MPI launcher needs to start processes on the hosts of a lab: a file of host names, and a program in place of
ssh(1). Open MPI and MPICH read the variables."""

import os
import shlex


def environment(lab, topology, command):
    """Writes both files into the lab's folder. Variables for the launcher's process. command: path of rxe_dm."""
    slots = {node.name: 0 for node in topology.hosts()}
    hosts, open_hosts, agent = lab.path("hostfile"), lab.path("hostfile.openmpi"), lab.path("agent")
    with open(hosts, "w", encoding="ascii") as f:
        f.write("".join(f"{name}\n" for name in slots))
    with open(open_hosts, "w", encoding="ascii") as f:
        f.write("".join(f"{name} slots=1 max_slots=64\n" for name in slots))
    with open(agent, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nexec {shlex.quote(command)} lab agent \"$@\"\n")
    os.chmod(agent, 0o700)
    network = lab.network
    return {
        "OMPI_MCA_orte_default_hostfile": open_hosts,
        "OMPI_MCA_plm_rsh_agent": agent,
        "OMPI_MCA_oob_tcp_if_include": network,
        "OMPI_MCA_btl_tcp_if_include": network,
        # A user namespace shows its user as root.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "HYDRA_HOST_FILE": hosts,
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": agent,
        # Else each rank gets the first host's environment in place of its own host's.
        "HYDRA_ENV": "none",
    }


def agent_call(argv):
    """The host and the command line of a call as ssh(1) gets it: options with a dash, the host, the command's words."""
    rest = list(argv)
    while rest and rest[0].startswith("-"):
        rest.pop(0)
    return (rest[0], " ".join(rest[1:])) if len(rest) > 1 else (None, None)
