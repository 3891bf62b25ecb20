# SPDX-License-Identifier: MIT
"""A disk over RDMA: Debian's tgtd on our device serves it, and the guest's kernel mounts it by ib_iser. tgtd makes the first
connection of each login by iSCSI's own negotiation, then READs and WRITEs the guest's memory and SENDs the answers."""

import functools
import hashlib
import os
import tempfile

from guest import IMAGE
from program import Failure, until
from sides import BOUND_S

NAME, GUEST = "iqn.2026-01.example:disk", "iqn.2026-01.example:guest"
SIZE = 64 << 20
TGT = os.path.join(IMAGE, "tgt")
LIBRARIES = [os.path.join(TGT, folder, "x86_64-linux-gnu") for folder in ("lib", "usr/lib")]


def served(use):
    """use(ends, file): while tgtd serves the file."""
    @functools.wraps(use)
    def case(ends):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "disk")
            with open(path, "wb") as f:
                f.truncate(SIZE)
            env = {"TGT_IPC_SOCKET": os.path.join(folder, "control"), "LD_LIBRARY_PATH": ":".join(LIBRARIES)}
            target = start_target(ends.server, env)
            for operation in (["target", "new", "--targetname", NAME], ["logicalunit", "new", "--lun", "1", "-b", path],
                              ["target", "bind", "-I", "ALL"], ["target", "bind", "--initiator-name", GUEST]):
                control(ends.server, env, *operation)
            try:
                login(ends)
                use(ends, path)
            finally:
                logout(ends)
            if not target.running():
                raise Failure("tgtd has ended")
    return case


def start_target(ours, env):
    """In the foreground. Its first portal would be TCP's."""
    program = ours.watch(ours.instance.start([tgt("tgtd"), "-f", "-C", "0"], title="tgtd, ours", env=env))
    program.wait_until(lambda: any(name.startswith("control") for name in os.listdir(os.path.dirname(env["TGT_IPC_SOCKET"]))),
                       "its control socket")
    return program


def tgt(name):
    return os.path.join(TGT, "usr", "sbin", name)


def control(ours, env, mode, operation, *more):
    program = ours.watch(ours.instance.start([tgt("tgtadm"), "--lld", "iser", "--mode", mode, "--op", operation, "--tid", "1", *more],
                                             env=env))
    if program.wait(BOUND_S) != 0:
        raise Failure(f"tgtadm {mode} {operation}: {program.text()}")


def login(ends):
    portal = f"[{ends.server.address}]" if ends.server.v6 else ends.server.address
    ends.client.guest.shell(f"""
        modprobe -a ib_iser sd_mod
        mkdir -p /run/lock/iscsi
        echo InitiatorName={GUEST} >/etc/iscsi/initiatorname.iscsi
        pidof iscsid >/dev/null || iscsid
        iscsiadm -m node -o new -T {NAME} -p {portal}:3260,1 -I iser
        iscsiadm -m node -T {NAME} -p {portal}:3260 -I iser --login
        """, timeout_s=BOUND_S)
    until(lambda: disk(ends), "disk in the guest")


def disk(ends):
    """Its name, or nothing."""
    return ends.client.guest.shell("ls /sys/class/iscsi_session/*/device/target*/*:1/block 2>/dev/null || true").strip()


def logout(ends):
    ends.client.guest.shell("umount /mnt 2>/dev/null || true; iscsiadm -m node -u; iscsiadm -m node -o delete", timeout_s=BOUND_S)


def digest(path, length):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read(length)).hexdigest()


@served
def copied(ends, path):
    """What the guest writes is in the file, and what it reads is what the file has."""
    device = "/dev/" + disk(ends)
    found = ends.client.guest.shell(f"""
        head -c 16M /dev/urandom >/tmp/bytes
        dd if=/tmp/bytes of={device} bs=256k oflag=direct 2>/dev/null
        dd if={device} of=/tmp/back bs=64k count=256 iflag=direct 2>/dev/null
        cmp /tmp/bytes /tmp/back
        sha256sum </tmp/bytes
        rm /tmp/bytes /tmp/back""", timeout_s=BOUND_S).split()[0]
    if found != digest(path, 16 << 20):
        raise Failure("the file of the target has other bytes than the guest wrote")


@served
def mounted(ends, _path):
    """A file system, whose files are read from the target again."""
    device = "/dev/" + disk(ends)
    ends.client.guest.shell(f"""
        mkfs.ext4 -q {device}
        mount {device} /mnt
        cp -L /usr/bin/[d-f]* /mnt
        umount /mnt
        mount {device} /mnt
        for file in /mnt/[d-f]*; do cmp "$file" "/usr/bin/${{file##*/}}"; done
        umount /mnt
        fsck.ext4 -nf {device}""", timeout_s=5 * BOUND_S)


@served
def again(ends, _path):
    """Logins, one after the other."""
    for _ in range(3):
        logout(ends)
        login(ends)


ISER = {"login and dd": copied, "a file system": mounted, "three logins": again}
