# SPDX-License-Identifier: MIT
"""The libraries above verbs that people program against: Debian's libfabric and UCX, unmodified."""

import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile

import mpi
from cases_python import PYTHON
from cases_trouble import leftovers, wait_clean
from instance import Instance, free_port
from namespaces import Pair
from program import Failure, Skip

# Runs under the interpreter that rxe_dm run starts: the public calls by their names, no binding between.
VERBS = """
import ctypes, os, signal, sys, time
verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_open_device.restype = verbs.ibv_alloc_pd.restype = ctypes.c_void_p
verbs.ibv_open_device.argtypes = verbs.ibv_alloc_pd.argtypes = [ctypes.c_void_p]
def opened():
    devices = verbs.ibv_get_device_list(None)
    assert devices and devices[0], "no device"
    context = verbs.ibv_open_device(devices[0])
    assert context and verbs.ibv_alloc_pd(context), "not opened"
"""


def libfabric_lists(build):
    with Instance(build, "fi_info") as instance:
        text = instance.run(["fi_info", "-p", "verbs"])
        if not re.search(r"domain: rxe_dm0-dgram\n.*\n *type: FI_EP_DGRAM\n *protocol: FI_PROTO_IB_UD", text):
            raise Failure("no datagram endpoint on rxe_dm0")


def libfabric_pingpong(build):
    """Reliable messages of libfabric's own over UD queue pairs. (Those over RC: cases_clients.py.)"""
    with Instance(build, "fi_pingpong") as instance:
        port = free_port()
        args = ["fi_pingpong", "-p", "verbs;ofi_rxd", "-e", "rdm", "-d", "rxe_dm0-dgram", "-c"]
        server = instance.start(args + ["-B", str(port)], title="fi_pingpong (server)")
        server.wait_listening(port)
        client = instance.start(args + ["-P", str(port), "127.0.0.1"], title="fi_pingpong (client)")
        for program in (client, server):
            if program.wait(60) != 0:
                raise Failure(f"{program.title}: exit {program.process.returncode}")
            if not re.search(r"^1m +\d+ +=\d+", program.text(), re.MULTILINE):
                raise Failure(f"{program.title}: no line for 1 MiB")


def ucx_loads(build):
    with Instance(build, "ucx") as instance:
        instance.run(["ucx_info", "-d"])


def ucx_lists(build):
    with Instance(build, "ucx_lists") as instance:
        text = instance.run(["ucx_info", "-d"])
        for transport in ("rc_verbs", "ud_verbs"):
            if not re.search(rf"Transport: {transport}\n#\s+Device: rxe_dm0:1", text):
                raise Failure(f"no {transport} on rxe_dm0")


def ucx_perftest(build, transports, address=None, options=(), test="tag_lat", sizes=(8, 100000)):
    """Messages short and long, through UCX's own protocols; its RC begins with its UD."""
    settings = {"UCX_TLS": transports, "UCX_NET_DEVICES": "rxe_dm0:1"}
    with Instance(build, "ucx_perftest", address=address) as instance:
        for size in sizes:
            port = free_port()
            server = instance.start(["ucx_perftest", "-p", str(port), *options], title="ucx_perftest (server)", env=settings)
            server.wait_listening(port)
            client = instance.start(["ucx_perftest", "-p", str(port), "127.0.0.1", "-t", test, "-s", str(size),
                                     "-n", "100", "-w", "10", *options], title="ucx_perftest (client)", env=settings)
            for program in (client, server):
                if program.wait(60) != 0:
                    raise Failure(f"{program.title}: exit {program.process.returncode}")
            if not re.search(r"^Final: +100 ", client.text(), re.MULTILINE):
                raise Failure("ucx_perftest: no final line")


def ucx_sockaddr(build, options=()):
    """UCX's io_demo connects by address and port: over RC, by UCX's connection manager rdmacm. It checks the bytes (-q)."""
    settings = {"UCX_TLS": "rc", "UCX_SOCKADDR_TLS_PRIORITY": "rdmacm", "UCX_NET_DEVICES": "rxe_dm0:1"}
    with Instance(build, "ucx_sockaddr") as instance:
        common = ["io_demo", "-p", str(free_port()), "-d", "4096:65536", "-i", "100", "-q", *options]
        server = instance.start(common, title="io_demo (server)", env=settings)
        server.wait_until(lambda: any(one["state"] == "listening" for one in instance.show().get("rdma_ids", [])), "listener")
        client = instance.start(common + [instance.address], title="io_demo (client)", env=settings)
        if client.wait(60) != 0 or "Client exit with status 'OK'" not in client.text():
            raise Failure(f"io_demo (client): exit {client.process.returncode}")


def ucx_rc(build):
    ucx_perftest(build, "rc")


def ucx_ud(build):
    ucx_perftest(build, "ud")


def ucx_rc_ipv6(build):
    ucx_perftest(build, "rc", address="::1")


def ucx_atomics(build, test):
    """UCX takes a device's atomics where it reports IBV_ATOMIC_HCA. (Its upper layer takes none of rc_verbs, on any device:
    that has no AND, OR, XOR and SWAP.)"""
    ucx_perftest(build, "rc", options=["-x", "rc_verbs", "-d", "rxe_dm0:1"], test=test, sizes=(8,))


def ucx_sleeps(build, transports):
    """Both sides poll, arm their CQs, and sleep until an event."""
    ucx_perftest(build, transports, options=["-E", "sleep"])


def openmpi(build, settings, net=None):
    """Two ranks of mpi4py's own ring test under Debian's Open MPI; net: a Pair of namespaces, the ranks run in the first."""
    if not os.path.isdir("/usr/lib/python3/dist-packages/mpi4py"):
        raise Skip("python3-mpi4py is not installed")
    place = {"address": net.address(0), "prefix": net.prefix(0)} if net else {}
    with Instance(build, "openmpi", **place) as instance, tempfile.TemporaryDirectory() as folder:
        for size in (8, 4096, 1 << 20):
            text = instance.run(["mpirun", "-n", "2", PYTHON, "-m", "mpi4py.bench", "ringtest", "-n", str(size), "-l", "20"],
                                env=mpi.environment(folder, settings))
            if f"(2 processes, {size} bytes)" not in text:
                raise Failure(f"ringtest says '{text}'")


def openmpi_ucx(build):
    openmpi(build, mpi.OVER_UCX)


def openmpi_libfabric(build, provider):
    """Over libfabric, which connects by the addresses of interfaces, and leaves lo out."""
    with Pair() as net:
        openmpi(build, {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_mtl_ofi_provider_include": provider}, net=net)


MPICH_RING = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static char sent[1 << 20], got[1 << 20];

int main(int argc, char **argv)
{
	int rank, ok = 1, all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int size = 1; size <= 1 << 20; size *= 32)
		for (int round = 0; round < 20; round++) {
			memset(sent, rank + round, size);
			MPI_Sendrecv(sent, size, MPI_BYTE, 1 - rank, 0, got, size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			ok &= got[0] == 1 - rank + round && got[size - 1] == 1 - rank + round;
		}
	MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d of 2 ranks agree\\n", all);
	MPI_Finalize();
	return 0;
}
"""


def mpich_ucx(build):
    """Two ranks of MPICH, which uses UCX in Debian, exchange messages of 1 byte to 1 MiB."""
    for program in ("mpicc.mpich", "mpiexec.mpich"):
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    with Instance(build, "mpich") as instance, tempfile.TemporaryDirectory() as folder:
        source, program = (os.path.join(folder, name) for name in ("ring.c", "ring"))
        with open(source, "w", encoding="ascii") as f:
            f.write(MPICH_RING)
        subprocess.run(["mpicc.mpich", source, "-o", program], check=True)
        text = instance.run(["mpiexec.mpich", "-n", "2", program], env={"UCX_TLS": "rc", "UCX_NET_DEVICES": "rxe_dm0:1"})
        if "2 of 2 ranks agree" not in text:
            raise Failure(f"the ranks say '{text}'")


def no_child_to_meet(build):
    """The server that a program starts is nobody's child: not for wait(), not where SIGCHLD is ignored."""
    script = VERBS + """
if sys.argv[1] == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
opened()
try:
    print("met", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("nobody")
"""
    for how in ("default", "ignored"):
        with Instance(build, f"child_{how}") as instance:
            # The server may have said before how much memory it could lock.
            if instance.run(["python3", "-c", script, how]).strip().split("\n")[-1] != "nobody":
                raise Failure(f"SIGCHLD {how}: the program met a child that it did not make")


def killed_with_child(build):
    """SIGKILL, while a forked child holds copies of all its descriptors: the context stays with the child, and ends with it."""
    script = VERBS + """
opened()
if os.fork() == 0:
    print("child", os.getpid(), flush=True)
    time.sleep(60)
    os._exit(0)
time.sleep(60)
"""
    with Instance(build, "killed_child") as instance:
        parent = instance.start(["python3", "-c", script])
        parent.wait_for_line(r"child \d+")
        child = int(re.search(r"child (\d+)", parent.text()).group(1))
        if not leftovers(instance.show()):
            raise Failure("rxe_dm show does not list the program while it runs")
        parent.kill(signal.SIGKILL)
        parent.wait_until(lambda: not any(device["programs"] for device in instance.show()["devices"]), "no program")
        if not leftovers(instance.show()):
            raise Failure("the context has ended before the child")
        os.kill(child, signal.SIGKILL)
        wait_clean(instance)


CASES = {
    "libfabric_lists": libfabric_lists,
    "libfabric_pingpong": libfabric_pingpong,
    "ucx_loads": ucx_loads,
    "ucx_lists": ucx_lists,
    "ucx_rc": ucx_rc,
    "ucx_rc_ipv6": ucx_rc_ipv6,
    "ucx_ud": ucx_ud,
    "ucx_sockaddr": ucx_sockaddr,
    "ucx_sockaddr_am": functools.partial(ucx_sockaddr, options=["-A"]),
    "ucx_fadd": functools.partial(ucx_atomics, test="fadd"),
    "ucx_cswap": functools.partial(ucx_atomics, test="cswap"),
    "ucx_rc_sleeps": functools.partial(ucx_sleeps, transports="rc"),
    "ucx_ud_sleeps": functools.partial(ucx_sleeps, transports="ud"),
    "openmpi_ucx": openmpi_ucx,
    "openmpi_rxm": functools.partial(openmpi_libfabric, provider="verbs;ofi_rxm"),
    "openmpi_rxd": functools.partial(openmpi_libfabric, provider="verbs;ofi_rxd"),
    "mpich_ucx": mpich_ucx,
    "no_child_to_meet": no_child_to_meet,
    "killed_with_child": killed_with_child,
}
