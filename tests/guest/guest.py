# SPDX-License-Identifier: MIT
"""The guest: Debian's own kernel and programs on an emulated machine, at the other end of a tap interface of this network
namespace. Its processors are 20 to 50 times slower than the host's."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.realpath(__file__))
# What starts, watches and ends programs is tests/client's.
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "client"))

from instance import clean_environment
from program import Failure, Program, Skip, until

TAP = "rxe_tap"
NET, NET6 = "10.77.0", "fd77:"
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
IMAGE = os.environ.get("RXE_TEST_GUEST") or os.path.join(CACHE, "rxe_dm", "guest")
QEMU = "qemu-system-x86_64"
# An emulated processor pays for the mitigations, and its counter of cycles is the host's own. Without pclmulqdq, the kernel
# computes CRCs by table, which is faster here.
KERNEL_LINE = ("console=ttyS0 quiet panic=-1 nokaslr nopti mitigations=off apparmor=0 random.trust_cpu=on tsc=reliable "
               "net.ifnames=0")
PROCESSOR = ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off,pclmulqdq=off", "-smp", "2", "-m", "2048"]


# The guest's share of the processors, as near as can be to that of a machine of its own.
NICE = -10


def favor(pid="self"):
    """Each session is a group of processes for the scheduler, whose share its own nice value decides, where there are groups. This
    process leaves the session of who started it, which would keep the value."""
    if pid == "self":
        with contextlib.suppress(PermissionError):  # it has one of its own
            os.setsid()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as f:
        f.write(str(NICE))


def need_guest():
    if os.geteuid() != 0:
        raise Skip("a network namespace and a tap need root")
    for tool in (QEMU, "ip", "unshare"):
        if not shutil.which(tool, path=clean_environment()["PATH"]):
            raise Skip(f"{tool} is not installed: tests/guest/image installs it")
    if not os.path.exists("/dev/net/tun"):
        raise Skip("no taps here: /dev/net/tun is missing")
    if not os.path.exists(os.path.join(IMAGE, "stamp")):
        raise Skip(f"no kernel package and root file system in {IMAGE}: tests/guest/image makes them")


def inside(arguments):
    """This program again, in namespaces of its own, whose processes end with the first one."""
    script = 'mount -t tmpfs tmpfs /dev/shm && ip link set lo up && exec "$@"'
    os.execvp("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "nice", "-n",
                          str(NICE - os.nice(0)), "sh", "-c", script, "sh", sys.executable, "-B", *arguments, "--inside"])


class GuestProgram:
    """A program in the guest; used as tests/client/program.py's Program is."""

    def __init__(self, guest, number, title, args):
        self.guest, self.number, self.title, self.args = guest, number, title, args
        self.pieces = []
        self.returncode = None

    process = property(lambda self: self)

    def text(self):
        return "".join(self.pieces)

    def running(self):
        return self.returncode is None and self.guest.running()

    def wait(self, timeout_s):
        try:
            until(lambda: not self.running(), f"end of {self.title}", timeout_s)
        except Failure:
            self.end()
            raise
        if self.returncode is None:
            raise Failure(f"{self.title}: the guest ended first")
        return self.returncode

    wait_until = Program.wait_until
    wait_for_line = Program.wait_for_line

    def end(self):
        if self.running():
            self.guest.send(end=self.number)
            with contextlib.suppress(Failure):
                until(lambda: not self.running(), f"end of {self.title}", 3)

    def describe(self):
        state = "running" if self.returncode is None else f"exit {self.returncode}"
        return f"--- in the guest: {self.title} ({state}): {' '.join(self.args)}\n{self.text()}"


class Guest:
    """with Guest(build, mtu) as g: g.check('rdma', 'link'). Made in the network namespace of the caller."""

    address = f"{NET}.2"
    address6 = f"{NET6}:2"

    def __init__(self, build, mtu=1500):
        self.build = build
        self.shared = os.path.join(build, "tests", "guest")  # its folder /build
        self.mtu = mtu
        self.programs = {}
        self.ready = threading.Event()
        self.lock = threading.Lock()
        self.socket = self.machine = None

    def __enter__(self):
        host_ip("tuntap", "add", "dev", TAP, "mode", "tap")
        with open(f"/proc/sys/net/ipv6/conf/{TAP}/accept_dad", "w", encoding="ascii") as f:
            f.write("0")
        host_ip("link", "set", TAP, "mtu", str(self.mtu), "up")
        host_ip("address", "add", f"{NET}.1/24", "dev", TAP)
        host_ip("address", "add", f"{NET6}:1/64", "dev", TAP)
        self.folder = tempfile.TemporaryDirectory()
        try:
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def boot(self):
        path = os.path.join(self.folder.name, "agent")
        folders = {"tests": HERE, "build": self.shared}
        args = [QEMU, "-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot", "-nodefaults", *PROCESSOR,
                "-kernel", os.path.join(IMAGE, "kernel"), "-initrd", os.path.join(IMAGE, "initrd"), "-append", kernel_line(),
                "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=agent,path={path},server=on,wait=off",
                "-device", "virtserialport,chardev=agent,name=agent",
                "-netdev", f"tap,id=net,ifname={TAP},script=no,downscript=no",
                "-device", f"virtio-net-pci,netdev=net,mac=52:54:00:77:00:02,host_mtu={self.mtu},romfile="]
        for name, folder in folders.items():
            args += ["-virtfs", f"local,path={folder},mount_tag={name},security_model=none,readonly=on,id={name}"]
        self.machine = Program("the guest", args, clean_environment())
        favor(self.machine.pid)
        self.machine.wait_until(lambda: os.path.exists(path), "a socket of the agent")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        threading.Thread(target=self.receive, daemon=True).start()
        self.machine.wait_until(self.ready.is_set, "its agent is ready")
        self.configure()

    def configure(self):
        self.shell(f"""
            sysctl -qw net.ipv6.conf.eth0.accept_dad=0
            ip address add {self.address}/24 dev eth0
            ip address add {self.address6}/64 dev eth0
            ip link set eth0 up
            rdma link add rxe0 type rxe netdev eth0""")
        self.index = until_not_none(lambda: self.gid_index(mapped(self.address)), "GID of the guest's IPv4 address")
        self.index6 = until_not_none(lambda: self.gid_index(self.address6), "GID of the guest's IPv6 address")

    def gid_index(self, address):
        """Where the device's table has this address."""
        wanted = socket.inet_pton(socket.AF_INET6, address)
        for line in self.shell("grep -H . /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null || true").split("\n"):
            name, _, gid = line.partition(":")
            if gid and socket.inet_pton(socket.AF_INET6, gid) == wanted:
                return int(os.path.basename(name))
        return None

    def receive(self):
        rest = b""
        while data := self.socket.recv(65536):
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                self.take(json.loads(line))

    def take(self, message):
        if "ready" in message:
            self.ready.set()
        elif "text" in message:
            self.programs[message["id"]].pieces.append(message["text"])
        else:
            self.programs[message["id"]].returncode = message["exit"]

    def running(self):
        return self.machine.running()

    def send(self, **message):
        with self.lock:
            self.socket.sendall(json.dumps(message).encode() + b"\n")

    def start(self, args, title=None):
        number = len(self.programs)
        program = self.programs[number] = GuestProgram(self, number, title or args[0], args)
        self.send(start=number, args=["stdbuf", "-oL", *args])
        return program

    def shell(self, script, timeout_s=12):
        """What a script says that ends well."""
        program = self.start(["bash", "-euc", script], title="a script")
        if program.wait(timeout_s) != 0:
            raise Failure(program.describe())
        return program.text()

    def describe(self):
        print(f"--- the guest's console\n{self.machine.text()[-4000:]}")
        with contextlib.suppress(Failure):
            print(self.shell("dmesg | grep -v speed | tail -n 20; rdma resource show cm_id; rdma resource show qp; rdma statistic show"))

    def __exit__(self, *_):
        if self.machine:
            self.machine.end()
            self.machine.log.close()
        if self.socket:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
        host_ip("link", "delete", TAP)
        self.folder.cleanup()
        return False


def kernel_line():
    """The counter of cycles need not be measured."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        rates = [float(line.split(":")[1]) for line in f if line.startswith("cpu MHz")]
    return KERNEL_LINE + (f" tsc_early_khz={round(rates[0] * 1000)}" if rates else "")


def mapped(address):
    return address if ":" in address else f"::ffff:{address}"


def until_not_none(value, what):
    """The first value() that is not None."""
    found = []

    def met():
        found.append(value())
        return found[-1] is not None
    until(met, what)
    return found[-1]


def host_ip(*args):
    done = subprocess.run(["ip", *args], capture_output=True, text=True, check=False, env=clean_environment(), timeout=60)
    if done.returncode != 0:
        raise Failure(f"ip {' '.join(args)}: {done.stderr.strip()}")
