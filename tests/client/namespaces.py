# SPDX-License-Identifier: MIT
"""Two network namespaces joined by a veth pair. They live as long as the two programs that hold them."""

import os
import shutil
import subprocess

from instance import search_path
from program import Program, Skip, patient

SUBNET, SUBNET6 = "10.77.0", "fd77:"
DEVICES = ("rxe_va", "rxe_vb")


class Pair:
    """with Pair(loss_percent) as p: p.prefix(0) runs a program in the first one, p.address(0) is its address.

    lossy: the sides that lose what arrives."""

    def __init__(self, loss_percent=0, mtu=1500, lossy=(0, 1)):
        need_tools(loss_percent)
        self.loss_percent = loss_percent
        self.lossy = lossy
        self.mtu = mtu
        self.holders = []

    def __enter__(self):
        env = dict(os.environ, PATH=search_path())
        for side in range(2):
            # 'sleep' ends on its own, even if nobody is left to end it.
            holder = Program(f"namespace {side}", ["unshare", "-n", "sleep", "900"], env)
            self.holders.append(holder)
            holder.wait_until(lambda h=holder: own_namespace(h.pid), "a network namespace")
        first, second = (str(holder.pid) for holder in self.holders)
        ip("link", "add", "rxe_va", "mtu", str(self.mtu), "netns", first, "type", "veth",
           "peer", "name", "rxe_vb", "mtu", str(self.mtu), "netns", second)
        for side in range(2):
            self.configure(side)
        for side in range(2):
            self.wait_not_tentative(side)
        return self

    def configure(self, side):
        device = self.device(side)
        self.call(side, "ip", "link", "set", "lo", "up")
        self.call(side, "ip", "address", "add", f"{self.address(side)}/24", "dev", device)
        if self.mtu >= 1280: # below, the kernel has no IPv6; and a tentative address may not solicit neighbors
            self.call(side, "sh", "-c", f"echo 0 > /proc/sys/net/ipv6/conf/{device}/accept_dad")
            self.call(side, "ip", "address", "add", f"{self.address6(side)}/64", "dev", device)
        self.call(side, "ip", "link", "set", device, "up")
        if self.loss_percent and side in self.lossy:
            rules = ("table inet lossy {\n chain in {\n type filter hook input priority 0;\n"
                     f"udp dport 4791 numgen random mod 100 < {self.loss_percent} counter drop\n"
                     "}\n}\n")
            self.call(side, "nft", rules)

    def __exit__(self, *_):
        for holder in self.holders:
            holder.end()
            holder.log.close()
        return False

    def wait_not_tentative(self, side):
        """The kernel sees the carrier some time after both ends are up. No program can bind to an IPv6 address before that."""
        self.holders[side].wait_until(lambda: SUBNET6 not in self.call(side, "ip", "-6", "address", "show", "tentative"),
                                      "an IPv6 address that is not tentative")

    def wait_link_local(self, side):
        """A second after the link is there the kernel has an address from which it solicits neighbors."""
        self.holders[side].wait_until(lambda: "fe80:" in self.call(side, "ip", "-6", "address"),
                                      "a link-local address")

    def device(self, side):
        return DEVICES[side]

    def address(self, side):
        return f"{SUBNET}.{side + 1}"

    def address6(self, side):
        return f"{SUBNET6}:{side + 1}"

    def free_address(self, side, which=0):
        """One that no kernel has, with the length of its network's prefix."""
        return f"{SUBNET}.{10 * (side + 1) + which}/24"

    def free_address6(self, side):
        return f"{SUBNET6}:{10 * (side + 1)}/64"

    def prefix(self, side):
        return ["nsenter", "-t", str(self.holders[side].pid), "-n"]

    def call(self, side, *args):
        return run(self.prefix(side) + list(args))

    def received(self, side):
        """Packets that the interface counted."""
        device = self.device(side)
        text = self.call(side, "cat", "/proc/net/dev")
        fields = next(line for line in text.split("\n") if device in line).split(":")[1].split()
        return int(fields[1])

    def dropped(self, side):
        """Packets that the rule took out."""
        text = self.call(side, "nft", "list", "ruleset")
        words = text.split()
        return int(words[words.index("packets") + 1]) if "packets" in words else 0


def need_tools(loss_percent):
    if os.geteuid() != 0:
        raise Skip("making network namespaces and veth pairs needs root")
    for tool in ["ip", "unshare", "nsenter"] + (["nft"] if loss_percent else []):
        if not shutil.which(tool, path=search_path()):
            raise Skip(f"{tool} is not installed")
    tried = subprocess.run(["unshare", "-n", "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise Skip(f"no network namespaces here: {tried.stderr.strip()}")


def own_namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    except OSError:
        return False


def ip(*args):
    return run(["ip", *args])


def run(args):
    env = dict(os.environ, PATH=search_path())
    done = subprocess.run(args, capture_output=True, text=True, check=False, env=env, timeout=patient(30))
    if done.returncode != 0:
        raise Skip(f"{' '.join(args)}: {done.stderr.strip()}")
    return done.stdout
