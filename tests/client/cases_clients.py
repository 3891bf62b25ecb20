# SPDX-License-Identifier: MIT
"""Debian's programs that connect by address and port: between two network namespaces and as an ordinary user on one host, by IPv4
and by IPv6. Each runs for a moment, some at a time; what they can do is the matter of the cases of each. docs/INTEROP.md has a
table of what runs here."""

import collections
import concurrent.futures
import filecmp
import functools
import os
import re
import shlex
import shutil
import subprocess
import tempfile

import mpi
from cases_perftest import ROW, TROUBLE
from cases_python import PYTHON
from cases_rdmacm import need_library
from cases_server import NOBODY, need_reachable
from cases_veth import device
from instance import free_port, need_program
from namespaces import Pair
from program import Failure, Skip

AT_ONCE = 3
RSOCKETS = ("--rsockets",)
TRANSFERRED = r" [\d.]+s +[\d.]+ +[\d.]+$"  # rstream and its kin
UCX_EXAMPLE = "/usr/share/doc/libucx-dev/examples/ucp_client_server.c"
UCX = {"UCX_TLS": "rc", "UCX_SOCKADDR_TLS_PRIORITY": "rdmacm", "UCX_NET_DEVICES": "rxe_dm0:1"}

# server, client: their command lines; mpirun has no server, and starts both. ready: what the client waits for, an id that listens ("cm"), a TCP or a UDP port, or a line of
# the server. lasts: the server serves until it is ended. ipv4: the program takes no IPv6 address. result: a line of the client.
# again: what a client says that came too early, and is started again.
Client = collections.namedtuple("Client", "server client ready lasts ipv4 result again options env",
                                defaults=("cm", False, False, "", "$^", (), {}))


def perftest(program, options=""):
    server = f"{program} -R -F -n 100 -p {{port}} {options}"
    return Client(server, server + " {address}", ipv4=True, result=ROW.pattern)


def fabric(provider, endpoint):
    common = f"fi_pingpong -p '{provider}' -e {endpoint} -d rxe_dm0 -c -I 5 {{six}}"
    return Client(common + " -B {port}", common + " -P {port} {address}", ready="tcp", result=r"^1m +\d+ +=\d+")


def fio(verb):
    job = "fio --name=job --ioengine=rdma --port={port} --bs=64k --size=1m --mem=malloc"
    return Client(job + " --rw=read --iodepth=32", job + f" --hostname={{address}} --rw=write --iodepth=4 --verb={verb}", ipv4=True,
                  result="err= 0")


def openmpi(folder, settings):
    """A ring of two ranks: mpi4py's own test under Debian's Open MPI. folder: of its session."""
    return Client("", f"mpirun {{ranks}} -n 2 {PYTHON} -m mpi4py.bench ringtest -n 100000 -l 20", env=mpi.environment("{folder}/" + folder, settings, agent="{folder}/agent"),
                  result=r"\(2 processes, 100000 bytes\)")


CLIENTS = {
    "rping": Client("rping -s -a {address} -p {port} -C 5 -V", "rping -c -a {address} -p {port} -C 5 -V"),
    "ucmatose": Client("ucmatose -b {address} -p {port}", "ucmatose -s {address} -p {port}"),
    "udaddy": Client("udaddy -b {address}", "udaddy -s {address}"),
    "mckey": Client("stdbuf -oL mckey -b {address} -m {group} -C 5", "mckey -b {other} -m {group} -s -C 5", ready="joined dgid"),
    "cmtime": Client("cmtime -b {address} -p {port}", "cmtime -s {address} -p {port} -c 50", lasts=True, result=r"^connect +: +[\d.]+"),
    "rdma_server": Client("rdma_server -s {address} -p {port}", "rdma_client -s {address} -p {port}"),
    "rdma_xserver": Client("rdma_xserver -p {port}", "rdma_xclient -s {address} -p {port}", ipv4=True),
    "rdma_xserver, XRC": Client("rdma_xserver -p {port} -c x", "rdma_xclient -s {address} -p {port} -c x", ipv4=True),
    "rcopy": Client("rcopy -p {port}", "rcopy {folder}/source {address}:{folder}/target -p {port}", lasts=True, ipv4=True),
    "rstream": Client("rstream -b {address} -p {port} {family} -I 20 -C 1 -S 65536",
                      "rstream -s {address} -p {port} {family} -I 20 -C 1 -S 65536", result=TRANSFERRED),
    "riostream": Client("riostream -b {address} -p {port} {family} -I 20 -C 1 -S 65536",
                        "riostream -s {address} -p {port} {family} -I 20 -C 1 -S 65536", result=TRANSFERRED),
    "udpong": Client("udpong -b {address} -p {port} -T e -C 100 -S 960", "udpong -s {address} -p {port} -T e -C 100 -S 960", ready="udp",
                     lasts=True, result=TRANSFERRED),
    **{program: perftest(program) for program in ("ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat",
                                                  "ib_atomic_bw", "ib_atomic_lat")},
    **{f"{program}, UD": perftest(program, "-c UD -s 1000") for program in ("ib_send_bw", "ib_send_lat")},
    **{f"fio, {verb}": fio(verb) for verb in ("write", "read", "send")},
    "qperf": Client("qperf -lp {port}", "qperf {address} -lp {port} -cm1 -t 1 -n 100 rc_bw rc_rdma_read_bw ver_rc_compare_swap",
                    ready="tcp", lasts=True, ipv4=True, result=r"ver_rc_compare_swap:\n +\w+ += +[\d.]+", again="Event rejected"),
    "fi_pingpong, msg": fabric("verbs", "msg"),
    "fi_pingpong, rdm": fabric("verbs;ofi_rxm", "rdm"),
    "iperf3": Client("iperf3 -1 -s -B {address} -p {port}", "iperf3 -J -c {address} -p {port} -n 5000000", options=RSOCKETS,
                     result='"receiver_tcp_congestion":\\s*"rdma"'),
    "redis": Client("redis-server --bind {address} --port {port} --protected-mode no --save '' --appendonly no",
                    "redis-benchmark -h {address} -p {port} -n 200 -c 4 -d 1000 -t set,get -q", options=RSOCKETS, lasts=True,
                    result="GET: [0-9.]+ requests per second"),
    "io_demo": Client("io_demo -p {port} -d 4096:65536 -i 50 -q", "io_demo -p {port} -d 4096:65536 -i 50 -q {address}", lasts=True,
                      ipv4=True, result="Client exit with status 'OK'", env=UCX),
    "Open MPI over UCX": openmpi("over_ucx", mpi.OVER_UCX),
    "Open MPI over libfabric": openmpi("over_ofi", {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_mtl_ofi_provider_include": "verbs;ofi_rxm"}),
    "ucp_client_server": Client("{folder}/ucx -p {port} {six} -i 3 -s 100000 -l {address}",
                                "{folder}/ucx -p {port} {six} -i 3 -s 100000 -a {address}", lasts=True, env=UCX),
}


class Place:
    """Where servers and clients run: here and there are instances, or one and the same."""

    def __init__(self, pair, here, there, folder, v6):
        self.here, self.there = here, there
        hosts = f"{pair.address(0)},{pair.address(1)}"
        self.values = {"address": here.address, "other": there.address, "folder": folder,
                       "ranks": "--oversubscribe" if here is there else f"--host {hosts}", "six": "-6" if v6 else "",
                       "family": "-f ipv6" if v6 else "", "group": "ff15::77:1" if v6 else "239.77.0.1"}

    def start(self, instance, line, client, port):
        env = {name: value.format(**self.values) for name, value in client.env.items()}
        return instance.start(shlex.split(line.format(port=port, **self.values)), env=env, options=client.options)

    def wait_ready(self, server, how, port):
        if how == "tcp":
            server.wait_listening(port)
        elif how == "udp":
            server.wait_bound(port)
        elif how == "cm":
            server.wait_until(lambda: self.listens(server.pid, port), "listener")
        else:
            server.wait_for_line(how)

    def listens(self, pid, port):
        """fio listens in a child, and udaddy at a port of its own."""
        return any(one["state"] == "listening" and (one["pid"] == pid or one["local"].endswith(f":{port}"))
                   for one in self.here.show().get("rdma_ids", []))

    def serve(self, client, port):
        server = self.start(self.here, client.server, client, port)
        self.wait_ready(server, client.ready, port)
        return server

    def run(self, name):
        client, port = CLIENTS[name], free_port()
        server = self.serve(client, port) if client.server else None
        program = self.start(self.there if server else self.here, client.client, client, port)
        while program.wait(60) != 0 and re.search(client.again, program.text()):
            program = self.start(self.there, client.client, client, port)
        if server and client.lasts:
            server.end()
        elif server and server.wait(60) != 0:
            raise Failure(f"{name}: exit {server.process.returncode} of the server")
        if program.process.returncode != 0:
            raise Failure(f"{name}: exit {program.process.returncode}")
        if TROUBLE.search(program.text()) or not re.search(client.result, program.text(), re.MULTILINE):
            raise Failure(f"{name}: no good end: {program.text()}")


AGENT = """#!/bin/sh
# What mpirun calls instead of ssh: a host and a command.
shift
export RXE_DM_INSTANCE={instance} RXE_DM_ADDRESS={address}
exec {prefix} {command} run -- sh -c "$*"
"""


def prepare(folder, there):
    """For any user: a file to copy, a place for it, UCX's own example as Debian ships its source, and mpirun's way to the other host."""
    os.chmod(folder, 0o777)
    if not os.path.exists(UCX_EXAMPLE):
        raise Skip("libucx-dev is not installed")
    if not os.path.isdir("/usr/lib/python3/dist-packages/mpi4py"):
        raise Skip("python3-mpi4py is not installed")
    with open(os.path.join(folder, "source"), "wb") as f:
        f.write(os.urandom(100_001))
    subprocess.run(["cc", "-O1", "-w", UCX_EXAMPLE, "-o", os.path.join(folder, "ucx"), "-lucp", "-lucs"], check=True)
    with open(os.path.join(folder, "agent"), "w", encoding="utf-8") as f:
        f.write(AGENT.format(instance=there.env["RXE_DM_INSTANCE"], address=there.address, prefix=" ".join(there.prefix),
                             command=there.command_path))
        os.chmod(f.name, 0o755)


def run_all(pair, here, there, v6):
    need_library(here)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        prepare(folder, there)
        place = Place(pair, here, there, folder, v6)
        names = [name for name, client in CLIENTS.items() if not (v6 and client.ipv4)]
        for name in names:
            need_program(CLIENTS[name].client.format(port=0, **place.values).split()[0])
        list(pool.map(place.run, names))
        if not v6 and not filecmp.cmp(os.path.join(folder, "source"), os.path.join(folder, "target"), shallow=False):
            raise Failure("rcopy: the copy differs")


def two_hosts(build, v6):
    with Pair() as pair:
        with device(build, "clients", pair, 0, "udp", v6) as here, device(build, "clients", pair, 1, "udp", v6) as there:
            for side in range(2):
                pair.wait_link_local(side)  # and a route for IPv6 groups
            run_all(pair, here, there, v6)


def ordinary_user(build, v6):
    """Without any privilege, and on one host. (In a network namespace, as libfabric takes no address of lo.)"""
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    with Pair() as pair, device(build, "user", pair, 0, "udp", v6, prefix=user) as here:
        need_reachable(here, build)
        pair.wait_link_local(0)
        run_all(pair, here, here, v6)


CASES = {f"clients_{name}_{family}": functools.partial(function, v6=family == "ipv6")
         for name, function in (("hosts", two_hosts), ("user", ordinary_user)) for family in ("ipv4", "ipv6")}
