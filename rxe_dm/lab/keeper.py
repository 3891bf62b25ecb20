# SPDX-License-Identifier: MIT
"""The first process of a lab's PID namespace: makes the nodes' namespaces, switches and links, and keeps them. The kernel
ends all processes of the lab with this one, and the namespaces and links with them.

usage: keeper.py LAB.json <WORD, in user, mount, network and PID namespaces of its own (namespaces.py)"""

import contextlib
import json
import os
import signal
import subprocess
import sys

import shaping
from topology import Mistake, parse

# The holder of a node's namespaces. $1: host name, $2: file of host names.
HOLDER = """mount --make-rprivate / && mount -t tmpfs -o mode=1777 shm /dev/shm && mount --bind "$2" /etc/hosts &&
hostname "$1" && ip link set lo up && echo ready
mount -t sysfs sys /sys 2>/dev/null
exec sleep infinity"""


def call(*args):
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Mistake(f"{' '.join(args)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def inside(pid, *args):
    return call("nsenter", "-t", str(pid), "-n", *args)


def hold(node, hosts):
    process = subprocess.Popen(["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c", HOLDER, "sh", node.name, hosts],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.stdout.readline() != "ready\n":
        process.wait()
        raise Mistake(f"node {node.name}: no namespaces: {process.stderr.read().strip()}")
    process.stdout.close()
    process.stderr.close()
    return process.pid


def host_names(topology):
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{node.interfaces[0].address} {node.name}" for node in topology.hosts()]
    lines += [f"{i.address} {node.name}-{i.name}" for node in topology.hosts() for i in node.interfaces]
    return "\n".join(lines) + "\n"


def make_link(topology, index, holders):
    """Returns the ports that a switch has of it, as [bridge, port] pairs."""
    ends, places, ports = topology.links[index].ends, [], []
    for side, end in enumerate(ends):
        is_port = topology.nodes[end.node].kind == "bridge"
        # A name in the switches' namespace is the link's: interfaces of several switches meet there.
        name = f"link{index}.{side}" if is_port else end.name
        places.append(["name", name, "netns", str(os.getpid() if is_port else holders[end.node])])
        if is_port:
            ports.append([bridge_name(topology, end.node), name])
    call("ip", "link", "add", *places[0], "type", "veth", "peer", *places[1])
    for bridge, port in ports:
        call("ip", "link", "set", port, "master", bridge, "up")
    for end in ends:
        if topology.nodes[end.node].kind == "linux":
            inside(holders[end.node], "ip", "address", "add", f"{end.address}/24", "dev", end.name)
            inside(holders[end.node], "ip", "link", "set", end.name, "up")
    return ports


def bridge_name(topology, node):
    return f"switch{list(topology.nodes).index(node)}"


def shape(topology, index, holders, has_netem):
    link = topology.links[index]
    for side, end in enumerate(link.ends):
        is_port = topology.nodes[end.node].kind == "bridge"
        device = f"link{index}.{side}" if is_port else end.name
        for words in shaping.qdisc(link, device, has_netem):
            if is_port:
                call("tc", *words)
            else:
                inside(holders[end.node], "tc", *words)


def make(lab, topology):
    holders, notes = {}, []
    hosts = os.path.join(lab["folder"], "hosts")
    with open(hosts, "w", encoding="ascii") as f:
        f.write(host_names(topology))
    call("ip", "link", "set", "lo", "up")
    for node in topology.nodes.values():
        if node.kind == "linux":
            holders[node.name] = hold(node, hosts)
        else:
            call("ip", "link", "add", "name", bridge_name(topology, node.name), "type", "bridge")
            call("ip", "link", "set", bridge_name(topology, node.name), "up")
    ports = {str(i): make_link(topology, i, holders) for i in range(len(topology.links))}
    has_netem = shaping.has_netem(call)
    for i in range(len(topology.links)):
        shape(topology, i, holders, has_netem)
    if not has_netem and any(link.delay_s or link.loss for link in topology.links):
        notes.append(shaping.NO_NETEM)
    return {"holders": holders, "ports": ports, "notes": notes, "has_netem": has_netem}


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        lab = json.load(f)
    try:
        said = make(lab, parse(lab["text"], lab["network"]))
    except (Mistake, OSError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    print(json.dumps(said), flush=True)
    if sys.stdin.readline() != "go\n":  # the command that started it has been killed
        return 1
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    # Children of programs that have ended become this process's.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while True:
        with contextlib.suppress(ChildProcessError):
            os.wait()


if __name__ == "__main__":
    sys.exit(main())
