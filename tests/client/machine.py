# SPDX-License-Identifier: MIT
"""A machine that is thrown away: this one's files under an overlay, a network, processes and a /dev/shm of its own.

Commands of pages may install, listen and leave processes behind there as they do on a user's machine. Its end takes all of it."""

import os
import subprocess
import tempfile

from instance import search_path
from namespaces import need_tools
from program import Failure, Program, Skip, patient

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
# $1: the folder, of which /shared is the same inside; the others are mounts of their own where this tree is one.
BOOT = r"""
set -e
cd "$1"; mkdir scratch root shared; shift
mount -t tmpfs scratch scratch
mkdir scratch/upper scratch/work
mount -t overlay overlay -o lowerdir=/,upperdir=scratch/upper,workdir=scratch/work root
for folder in /dev /sys "$PWD/shared" "$@"; do
	mkdir -p "root$folder"
	mount --rbind "$folder" "root$folder"
done
mount -t tmpfs -o mode=1777 shm root/dev/shm
mount -t proc proc root/proc
ip link set lo up
cd root
rm -rf etc/apt/sources.list* # it reaches no archive, so apt need not try
pivot_root . mnt
umount -l /mnt
echo up
exec sleep 900
"""


class Machine:
    """with Machine(build) as m: m.run('rxe_dm run ibv_devices'). m.shared is a folder that both sides see."""

    def __init__(self, build, hostname="machine", installed=True):
        """installed: the command of this build is in the PATH."""
        need_tools(0)
        self.build = os.path.realpath(build)
        self.hostname = hostname
        self.programs = []
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self.env = {"PATH": f"{self.build}/rxe_dm:{path}" if installed else path, "HOME": "/root", "LC_ALL": "C.UTF-8"}

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.shared = os.path.join(self.temporary.name, "shared")
        folders = sorted({ROOT, self.build}, key=len)
        self.holder = Program(self.hostname, ["unshare", "-n", "-m", "-u", "-i", "-p", "-f", "--kill-child", "sh", "-c", BOOT, "sh",
                                              self.temporary.name, *folders], dict(os.environ, PATH=search_path()))
        self.holder.wait_until(lambda: "up\n" in self.holder.text() or not self.holder.running(), "a machine")
        if not self.holder.running():
            text = self.holder.text()
            self.__exit__()
            raise Skip(f"no machine of its own: {text}")
        with open(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children", encoding="ascii") as f:
            self.first = f.read().split()[0]
        self.run(f"hostname {self.hostname}")
        return self

    def __exit__(self, kind=None, *_):
        self.holder.end()
        for program in self.programs:
            program.end()
            if kind not in (None, Skip):
                print(program.describe())
            program.log.close()
        self.holder.log.close()
        self.temporary.cleanup()
        return False

    def start(self, script, title="a script", env=None, folder="/"):
        """bash with the options of a CI's shell."""
        args = ["nsenter", "-t", self.first, "-a", "env", "-C", folder, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        program = Program(title, args, dict(self.env, **(env or {})))
        self.programs.append(program)
        return program

    def run(self, script, title="a script", env=None, folder="/", timeout_s=60):
        """The exit status and what was said."""
        program = self.start(script, title, env, folder)
        return program.wait(timeout_s), program.text()

    def check(self, script, **how):
        """What was said by a script that ends well."""
        status, text = self.run(script, **how)
        if status != 0:
            raise Failure(f"{script}: exit {status}: {text}")
        return text


def need_packages(*names):
    """Skips where one of Debian's packages is not installed."""
    for name in names:
        done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", name], capture_output=True, text=True, check=False,
                              timeout=patient(30))
        if done.stdout != "installed":
            raise Skip(f"{name} is not installed")
