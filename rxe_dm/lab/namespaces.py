# SPDX-License-Identifier: MIT
"""A lab of network namespaces: a keeper process (keeper.py) in namespaces of its own, with one process for each host. An
ordinary user gets them through a user namespace."""

import json
import os
import signal
import subprocess
import sys

import enter
import state
from topology import Mistake

NETWORK = "10.88.0.0/16"


def unshare_words():
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return words if os.geteuid() == 0 else words + ["--user", "--map-root-user"]


def why_not():
    """Why this machine gives this user no namespaces. None: it does."""
    try:
        done = subprocess.run(unshare_words() + ["ip", "link", "add", "name", "probe0", "type", "veth", "peer", "name", "probe1"],
                              capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "refused"


def up(lab):
    """Starts the keeper and waits for its word. The keeper goes on once the lab's file names it: if this process is killed before,
    nothing is left."""
    keeper = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper.py")
    with open(lab.path("keeper.log"), "wb") as log:
        process = subprocess.Popen(unshare_words() + [sys.executable, "-B", keeper, lab.path("lab.json")],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    line = process.stdout.readline()
    process.stdout.close()
    said = json.loads(line) if line else {"error": read(lab.path("keeper.log")) or f"exit status {process.wait()}"}
    if "error" in said:
        process.kill()
        process.wait()
        raise Mistake(f"no lab: {said['error']}")
    lab.keeper = only_child(process.pid)
    lab.keeper_start = state.start_time(lab.keeper)
    lab.holders, lab.ports, lab.notes = said["holders"], said["ports"], said["notes"]
    lab.save()
    process.stdin.write(b"go\n")
    process.stdin.close()
    return said["has_netem"]


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read().strip()


def only_child(pid):
    """unshare(1) stays as the parent of the first process of the PID namespace."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return int(f.read().split()[0])


def down(lab):
    """Ends the keeper: the kernel ends every process of the PID namespace before this returns."""
    try:
        fd = os.pidfd_open(lab.keeper)
    except OSError:
        return
    try:
        if state.start_time(lab.keeper) == lab.keeper_start:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
            import select  # pylint: disable=import-outside-toplevel
            select.select([fd], [], [], 10)
    finally:
        os.close(fd)


def set_link(lab, topology, index, on):
    """A switch's port leaves the switch: silence. Between two hosts the interface goes down, as by a cable that is pulled."""
    ports = lab.ports.get(str(index), [])
    for bridge, port in ports:
        enter.output(lab, None, ["ip", "link", "set", port, *(["master", bridge] if on else ["nomaster"])], dict(os.environ))
    if not ports:
        end = topology.links[index].ends[0]
        enter.output(lab, end.node, ["ip", "link", "set", end.name, "up" if on else "down"], dict(os.environ))
