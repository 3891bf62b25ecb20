# SPDX-License-Identifier: MIT
"""The device as files: Debian's tools that look into /sys and /dev find it there, and see what `rxe_dm show` sees."""

import contextlib
import fcntl
import functools
import json
import os
import re
import shutil

from cases_server import NOBODY, as_nobody, need_reachable
from cases_tools import need
from instance import Instance, need_program
from namespaces import Pair
from program import Failure, Skip, until

PORT = "/sys/class/infiniband/rxe_dm0/ports/1"

# What a program may do with the paths, by all kinds of calls; other paths stay what they are.
PATHS = """
import errno, glob, os, stat
top, node = "/sys/class/infiniband", "/dev/infiniband/uverbs"
port = top + "/rxe_dm0/ports/1"
def fails(how, call, *args):
    try:
        call(*args)
    except OSError as e:
        assert e.errno == how, (call, args, e)
        return
    raise AssertionError((call, args))
assert os.listdir(top) == ["rxe_dm0"] and [e.name for e in os.scandir("//sys/./class//infiniband/")] == ["rxe_dm0"]
assert glob.glob(top + "/*/ports/*/state") == [port + "/state"]
assert os.path.realpath("/sys/class/infiniband_verbs/uverbs0/device") == top + "/rxe_dm0/device"
assert os.readlink(top + "/rxe_dm0/device/infiniband/rxe_dm0") == "../.." and not os.path.exists(top + "/rxe_dm0/device/net")
os.chdir(port)
assert open("state").read() == "4: ACTIVE\\n" == open(port + "/state").read()
folder = os.open(port, os.O_RDONLY | os.O_DIRECTORY)
assert os.read(os.open("link_layer", os.O_RDONLY, dir_fd=folder), 99) == b"Ethernet\\n"
assert stat.S_ISCHR(os.stat(node + "0").st_mode) and stat.S_ISCHR(os.lstat(node + "0").st_mode)
assert os.stat(node + "0").st_rdev == os.makedev(231, 192)
assert os.access(node + "0", os.R_OK | os.W_OK) and not os.access(node + "0", os.X_OK)
fails(errno.ENXIO, open, node + "0")
for name in ("", "1", "0x", "-1", "007"):
    fails(errno.ENOENT, os.stat, node + name)
    fails(errno.ENOENT, open, node + name)
fails(errno.ENOTDIR, os.stat, node + "0/")
fails(errno.ENOENT, os.stat, port + "/nothing")
fails(errno.ENOENT, os.listdir, "/sys/class/infiniband_cm")
assert stat.S_ISREG(os.stat("/proc/self/status").st_mode) and not os.access("/nowhere", os.F_OK)
assert os.path.realpath("/proc/self/../self/fd") == "/proc/%d/fd" % os.getpid()
assert "infiniband" not in os.path.realpath("/sys/class/net/lo") and os.path.isdir("/sys/class/net/lo")
"""


def last_line(text):
    """A server that starts may have said before how much memory it could lock."""
    return text.strip().split("\n")[-1]


def tools(build, user=()):
    with Instance(build, "view_tools", prefix=user) as instance:
        if user:
            need_reachable(instance, build)
        for tool in ("ibstat", "ibstatus"):
            need_program(tool)
        guid = last_line(instance.run(["cat", "/sys/class/infiniband/rxe_dm0/node_guid"]))
        need(instance.run(["ibv_devinfo", "-v"]), rf"node_guid:\s+{guid}$")
        need(instance.run(["ibstat"]), r"^CA 'rxe_dm0'", r"State: Active", r"Physical state: LinkUp", r"Rate: 40 ",
             rf"Node GUID: 0x{guid.replace(':', '')}", r"Link layer: Ethernet")
        need(instance.run(["ibstat", "-l"]), r"^rxe_dm0$")
        need(instance.run(["ibstatus"]), r"Infiniband device 'rxe_dm0' port 1 status", r"state:\s+4: ACTIVE",
             r"rate:\s+40 Gb/sec \(4X FDR10\)", r"default gid:\s+0000:0000:0000:0000:0000:ffff:7f")
        need(instance.run(["ls", "-l", "/sys/class/infiniband/", "/dev/infiniband/"]), r" rxe_dm0$", r"^crw.* 231, 192 .*uverbs0",
             r"^crw.*rdma_cm")
        need(instance.run(["cat", "/sys/class/infiniband_verbs/abi_version", PORT + "/gid_attrs/types/0"]), r"^6$", r"^RoCE v2$")


def ordinary_user(build):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("this is an ordinary user already: every test shows it")
    tools(build, as_nobody())


def two_devices(build):
    with Instance(build, "view_two", address="127.63.2.1,127.63.2.2", devices=2) as instance:
        need_program("ibstat")
        need(instance.run(["ibstat", "-l"]), r"^rxe_dm0$", r"^rxe_dm1$")
        need(instance.run(["cat", "/sys/class/infiniband_verbs/uverbs1/ibdev", "/sys/class/infiniband/rxe_dm1/ports/1/gids/0"]),
             r"^rxe_dm1$", r":ffff:7f3f:0202$")


def paths(build, options=()):
    with Instance(build, "view_paths", options=options) as instance:
        instance.run(["python3", "-c", PATHS])


def interface(build):
    """The interface that has the device's address, as far as one has."""
    with Pair() as pair, Instance(build, "view_net", pair.address(0), prefix=pair.prefix(0)) as instance:
        need(instance.run(["ls", "/sys/class/infiniband/rxe_dm0/device/net/"]), rf"^{pair.device(0)}$")
        need(instance.run(["cat", PORT + "/gid_attrs/ndevs/0"]), rf"^{pair.device(0)}$")


def without(build):
    if os.path.exists("/sys/class/infiniband") or os.path.exists("/dev/infiniband"):
        raise Skip("this machine has a real adapter")
    with Instance(build, "view_none", options=["--view", "none"]) as instance:
        need(instance.run(["ibv_devices"]), r"rxe_dm0")
        instance.run(["sh", "-c", "! ls /sys/class/infiniband && ! [ -e /dev/infiniband/uverbs0 ]"])


def counter(instance, name):
    return int(last_line(instance.run(["cat", f"{PORT}/{name}"])))


def counters(build):
    """They are those of `rxe_dm show`, at the moment the file is opened; and in a file that stays open they move."""
    with Instance(build, "view_counters") as instance:
        first = counter(instance, "hw_counters/sent_pkts")
        reader = instance.start(["python3", "-c", f"""
import time
f = open("{PORT}/counters/port_xmit_packets")
print(before := f.read(), flush=True)
while f.seek(0) == 0 and f.read() == before:
    time.sleep(0.01)
print("moved", flush=True)
"""])
        reader.wait_for_line(r"^\d+\n")
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "100"])
        counted = instance.show()["devices"][0]["counters"]
        for name in ("sent_pkts", "rdma_sends", "sent_bytes", "link_recv_drops"):
            if counter(instance, "hw_counters/" + name) != counted[name]:
                raise Failure(f"{name}: the file and rxe_dm show differ")
        for name, value in (("rcv_data", counted["rcvd_bytes"] // 4), ("rcv_packets", counted["rcvd_pkts"]),
                            ("xmit_packets", counted["sent_pkts"])):
            if counter(instance, "counters/port_" + name) != value:
                raise Failure(f"port_{name} is not {value}, what rxe_dm show counts; data is in words of four bytes")
        if counter(instance, "counters/port_xmit_data") != counted["sent_bytes"] // 4 or counted["sent_pkts"] <= first:
            raise Failure("the counters did not move")
        reader.wait_for_line(r"moved")


def state(build):
    """The files follow the port and the GID table."""
    with Instance(build, "view_state") as instance:
        instance.run(["ibv_devices"])
        instance.command("fault", "add", "port_down")
        need(instance.run(["cat", PORT + "/state", PORT + "/phys_state"]), r"^1: DOWN$", r"^3: Disabled$")
        instance.command("fault", "clear")
        instance.command("fault", "add", "gid_change", "index=0", "to=3")
        need(instance.run(["cat", PORT + "/state", PORT + "/gids/3", PORT + "/gid_attrs/types/3"]), r"^4: ACTIVE$", r":ffff:7f",
             r"^RoCE v2$")
        need(instance.run(["cat", PORT + "/gids/0"]), r"^0000:0000:0000:0000:0000:0000:0000:0000$")
        instance.run(["cat", PORT + "/gid_attrs/types/0"], expect=1)


def folder_of(instance):
    return last_line(instance.run(["sh", "-c", "echo $RXE_DM_SYSFS"]))


def life(build):
    """The files go with the server, and a killed server's are made again by the next."""
    with Instance(build, "view_life") as instance:
        folder = folder_of(instance)
        pid = instance.server_pid()
        if not os.path.exists(folder + PORT + "/state"):
            raise Failure(f"no files in {folder}")
        os.kill(pid, 9)
        until(lambda: instance.server_pid() is None, "end of the server")
        shutil.rmtree(folder, ignore_errors=True)  # which another server's start may have removed
        # A program that has the folder in its environment, as one that outlived the server.
        instance.run(["sh", "-c", f"ibv_devices && cat {PORT}/state"])
        if folder_of(instance) != folder:
            raise Failure("another folder")
        instance.command("stop")
        if os.path.exists(folder):
            raise Failure(f"{folder} is left")


def killed(build):
    """The files of a killed server go with the next start of any server, those of a running one stay."""
    with Instance(build, "view_killed") as dead, Instance(build, "view_running") as running:
        folder, other = folder_of(dead), folder_of(running)
        pid = dead.server_pid()
        os.kill(pid, 9)
        until(lambda: dead.server_pid() is None, "end of the server")
        with Instance(build, "view_next") as new:
            new.command("start")
        if os.path.exists(folder):
            raise Failure(f"{folder} is left")
        if not os.path.exists(other + PORT + "/state"):
            raise Failure(f"{other} of a running server is gone")
        if folder_of(dead) != folder or not os.path.exists(folder + PORT + "/state"):
            raise Failure("the next server of the instance has no files")


def locked(build):
    """A folder that somebody holds the lock of is left alone: the files are elsewhere."""
    with Instance(build, "view_locked") as instance:
        net = os.stat("/proc/self/ns/net").st_ino
        folder = f"/dev/shm/rxe_dm.sysfs-{os.geteuid()}-{net}-{instance.env['RXE_DM_INSTANCE']}"
        os.mkdir(folder)
        held = os.open(folder, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            if not folder_of(instance).startswith("/tmp/"):
                raise Failure(f"the files are in {folder_of(instance)}")
        finally:
            os.rmdir(folder)
            os.close(held)


def squatted(build):
    """Another user has both names: the message says so, and the program runs without files."""
    if os.geteuid() != 0:
        raise Skip("making a folder of another user needs root")
    with Instance(build, "view_squatted") as instance, contextlib.ExitStack() as made:
        name = f"rxe_dm.sysfs-0-{os.stat('/proc/self/ns/net').st_ino}-{instance.env['RXE_DM_INSTANCE']}"
        for folder in ("/dev/shm", "/tmp"):
            os.mkdir(f"{folder}/{name}")
            made.callback(os.rmdir, f"{folder}/{name}")
            os.chown(f"{folder}/{name}", int(NOBODY), int(NOBODY))
        text = instance.run(["ibv_devices"])
        need(text, "rxe_dm0", "another user or server has a file of the name", "--instance chooses another name")
        if "Read-only" in text:
            raise Failure("the wrong reason")


def perfquery(build):
    """There is no subnet to send MADs to: tools of a subnet say that they cannot open the port, as with any RoCE adapter. ibstat and
    ibstatus read files, and answer."""
    with Instance(build, "view_perfquery") as instance:
        for tool in ("perfquery", "perfquery -x", "smpquery nodeinfo 0", "smpquery -C rxe_dm0 -P 1 portinfo 0"):
            need(instance.run(tool.split(), expect=None), r"Failed to open")
        need(instance.run(["saquery"], expect=None), r"No SM/SA found|Failed to bind to the SA")
        need(instance.run(["ibstat", "rxe_dm0", "1"]), r"Link layer: Ethernet")
        need(instance.run(["ibstatus"]), r"link_layer:\s+Ethernet")
        if "perfquery" in instance.run(["perfquery", "-C", "rxe_dm0", "-P", "1"], expect=None).replace("perfquery: iberror", ""):
            raise Failure("not refused")


def nowhere(build, folders):
    """No folder to write to, as in a container that is read-only: the next one is used, or programs run without files."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("making a folder read-only needs root")
    hide = " && ".join(f"mount -t tmpfs -o ro none {folder}" for folder in folders)
    inside = ["unshare", "-m", "sh", "-c", f'{hide} && exec "$@"', "sh"]
    with Instance(build, "view_nowhere", prefix=inside) as instance:
        need(instance.run(["ibv_devices"]), r"rxe_dm0")
        if folder_of(instance).startswith("/tmp") != (len(folders) == 1):
            raise Failure("the files are elsewhere")


def rdma(build):
    """The command of that name is ours under rxe_dm run, and has iproute2's formats."""
    with Instance(build, "view_rdma") as instance:
        show = instance.run(["rdma", "link"])
        need(show, r"^link rxe_dm0/1 state ACTIVE physical_state LINK_UP netdev lo $")
        link, = json.loads(last_line(instance.run(["rdma", "link", "show", "rxe_dm0/1", "-j"])))
        if link != {"ifindex": 0, "ifname": "rxe_dm0", "port": 1, "state": "ACTIVE", "physical_state": "LINK_UP", "netdev": "lo",
                    "netdev_index": 1}:
            raise Failure(f"rdma -j link: {link}")
        guid = instance.run(["cat", "/sys/class/infiniband/rxe_dm0/node_guid"]).strip()
        need(instance.run(["rdma", "dev"]), rf"^0: rxe_dm0: node_type ca fw \S+ node_guid {guid} sys_image_guid ")
        need(instance.run(["rdma", "system"]), r"^netns exclusive")
        need(instance.run(["rdma", "dev", "show", "counter"], expect=1), r"no device 'counter'")
        need(instance.run(["rdma", "link", "show", "mlx5_0/1"], expect=1), r"no device 'mlx5_0/1'")
        instance.command("fault", "add", "port_down")
        need(instance.run(["rdma", "li"]), r"state DOWN physical_state DISABLED")
        instance.command("stop")
        done = instance.command("rdma", "-j", "dev")
        if done.returncode or done.stdout.strip() != "[]":
            raise Failure(f"without a server: {done}")


def rdma_statistic(build):
    """Its counters are those of `rxe_dm show`. Resources are listed by `rxe_dm show`, and refused here."""
    with Instance(build, "view_statistic") as instance:
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-n", "100"])
        stat, = json.loads(last_line(instance.run(["rdma", "-j", "statistic", "show", "link", "rxe_dm0/1"])))
        counted = instance.show()["devices"][0]["counters"]
        for name in ("sent_pkts", "rdma_sends"):
            if stat[name] != counted[name] or not stat[name]:
                raise Failure(f"statistic: {name} is {stat[name]}, rxe_dm show has {counted[name]}")
        need(instance.run(["rdma", "resource"], expect=1), r"unknown object 'resource'")


def host_devices(build):
    """An adapter of the host is seen where it is asked for, and only there."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("to pretend an adapter needs root")
    pretend = ("mount -t tmpfs none /sys/class && mkdir -p /sys/class/infiniband /sys/class/real/mlx5_0 && "
               "echo real >/sys/class/real/mlx5_0/board_id && ln -s ../real/mlx5_0 /sys/class/infiniband/mlx5_0 && exec \"$@\"")
    inside = ["unshare", "-m", "sh", "-c", pretend, "sh"]
    command = ["sh", "-c", "ls /sys/class/infiniband; cat /sys/class/infiniband/*/board_id $(realpath /sys/class/infiniband/rxe_dm0)/hw_rev"]
    with Instance(build, "view_host", prefix=inside) as instance:
        need(instance.run(command), r"^rxe_dm0\nrxe_dm\n0$")
        instance.options.append("--host-devices")
        need(instance.run(command), r"^mlx5_0\nrxe_dm0\nreal\nrxe_dm\n0$")
        need(instance.run(["cat", PORT + "/state"]), r"ACTIVE")


def unprivileged(build):
    """The files need no privilege: an ordinary user with another root folder, as in many containers, finds them."""
    if os.geteuid() != 0 or not shutil.which("chroot"):
        raise Skip("to change the root folder needs root")
    inside = ["unshare", "-m", "sh", "-c", 'mount --rbind / /mnt && exec chroot /mnt "$@"', "sh", *as_nobody()]
    with Instance(os.path.abspath(build), "view_unprivileged", prefix=inside) as instance:
        need_reachable(instance, build)
        need_program("ibstat")
        need(instance.run(["ibstat"]), r"^CA 'rxe_dm0'")


CASES = {
    "view_tools": tools,
    "view_ordinary_user": ordinary_user,
    "view_two_devices": two_devices,
    "view_paths": paths,
    "view_interface": interface,
    "view_none": without,
    "view_counters": counters,
    "view_state": state,
    "view_life": life,
    "view_killed": killed,
    "view_locked": locked,
    "view_squatted": squatted,
    "view_perfquery": perfquery,
    "view_host_devices": host_devices,
    "view_unprivileged": unprivileged,
    "view_rdma": rdma,
    "view_rdma_statistic": rdma_statistic,
    "view_shm_read_only": functools.partial(nowhere, folders=["/dev/shm"]),
    "view_read_only": functools.partial(nowhere, folders=["/dev/shm", "/tmp"]),
}
