# SPDX-License-Identifier: MIT
"""Profiles: each key is reported and enforced (verbs_profile.c), files with errors are refused, and programs cope."""

import functools
import json
import os
import re
import shutil
import tempfile

from cases_server import as_nobody, need_line, need_reachable
from instance import Instance
from program import Failure, Skip

INSTALLED = ["default", "rxe", "connectx", "tiny"]


def check_keys(instance):
    """Every key, as the server has it, from within a program."""
    limits = instance.command("show", "--limits")
    with tempfile.NamedTemporaryFile("w", suffix=".limits") as file:
        file.write(limits.stdout)
        file.flush()
        os.chmod(file.name, 0o644)
        instance.run([os.path.join(instance.build, "tests", "client", "verbs_profile")], timeout_s=60,
                     env={"RXE_TEST_LIMITS": file.name})
    return limits.stdout


def installed(build, name):
    with Instance(build, f"profile_{name}", profile=name) as instance:
        if instance.command("start").returncode != 0:
            raise Failure(f"--profile {name}: no server")
        check_keys(instance)
        if instance.show()["devices"][0]["profile"]["name"] != name:
            raise Failure(f"show --json does not name the profile {name}")
        if (f"profile {name}:" in instance.command("show").stdout) != (name != "default"):
            raise Failure(f"show names the profile {name}, or does not")
        instance.pair(["ibv_rc_pingpong", "-c", "-m", "1024", "-r", "32", "-g", "0"])


def write(folder, text, name="mine"):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def own_file(build):
    """A file of the user's own: in any order, with comments and blanks; what it leaves out is the default."""
    text = ("# mine\n\n  max_qp=3 # few\natomic_cap = NONE\r\nmax_dm_size = 8K\nvendor_id = 0xabc\n"
            "max_srq = 0\nmax_mw=2\nmax_mcast_grp = 2\nmax_mcast_qp_attach = 1\nodp_implicit = off\nmax_num_tags = 5")
    with tempfile.TemporaryDirectory() as folder, \
            Instance(build, "own_file", profile=write(folder, text)) as instance:
        if instance.command("start").returncode != 0:
            raise Failure("a good file was refused")
        limits = check_keys(instance)
        for line in ("# profile mine", "max_qp = 3", "atomic_cap = none", "max_dm_size = 8192", "max_cq = 4096"):
            if line not in limits.splitlines():
                raise Failure(f"no line '{line}' in {limits}")
        devinfo = instance.run(["ibv_devinfo", "-v"])
        for shown in (r"max_qp:\s+3\b", r"vendor_id:\s+0x0abc\b", r"atomic_cap:\s+ATOMIC_NONE"):
            if not re.search(shown, devinfo):
                raise Failure(f"ibv_devinfo does not show {shown}: {devinfo}")


ERRORS = {
    "max_qp = 16\nmax_qps = 16\n": r"mine:2: there is no key 'max_qps'",
    "max_qp = 0\n": r"mine:1: max_qp = 0: expected 1 to 4096",
    "\n\nmax_qp = 4097\n": r"mine:3: max_qp = 4097: expected 1 to 4096",
    "max_qp = 18446744073709551616\n": r"mine:1: max_qp = 1844.*: expected 1 to 4096",
    "max_qp = 16 17\n": r"mine:1: max_qp = 16 17: expected",
    "max_qp =\n": r"mine:1: max_qp = : expected",
    "max_qp 16\n": r"mine:1: 'max_qp 16' is no 'key = value'",
    "= 16\n": r"mine:1: there is no key ''",
    "max_qp = 1\n# two\nmax_qp = 2\n": r"mine:3: max_qp is set in line 1 already",
    "atomic_cap = some\n": r"mine:1: atomic_cap = some: expected none, hca, glob",
    "xrc = maybe\n": r"mine:1: xrc = maybe: expected off, on",
    "active_mtu = 1500\n": r"mine:1: active_mtu = 1500: expected 256, 512, 1024, 2048, 4096",
    "max_dm_size = 2T\n": r"mine:1: max_dm_size = 2T: expected 0 to 1099511627776",
    "max_qp = 1K\n": r"mine:1: max_qp = 1K: expected",
    "fw_ver = with blanks\n": r"mine:1: fw_ver = with blanks: expected",
    "xrc = on\n" + "x" * 300 + "\n": r"mine:2: the line is longer",
}


def errors(build):
    """A file with an error, or none: a line that says where and why, and no server."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "profile_errors") as instance:
        for text, expected in ERRORS.items():
            need_line(instance.command("start", "--profile", write(folder, text)), expected)
        need_line(instance.command("run", "--profile", os.path.join(folder, "none"), "true"), "cannot be read", "none")
        need_line(instance.command("start", "--profile", "conectx"), "no profile 'conectx'")
        need_line(instance.command("start", "--profile", ""), "--profile", "a name, or a path")
        need_line(instance.command("start", "--profile", folder + "/"), re.escape(folder))
        if instance.server_pid():
            raise Failure("a server runs with a profile that was refused")


def differs(build):
    """A running server keeps its profile; who asks for another one is told. After a kill the next one has it again."""
    with Instance(build, "profile_differs", profile="tiny") as instance:
        instance.command("start")
        instance.env["RXE_DM_PROFILE"] = "rxe"
        need_line(instance.command("run", "--", "ibv_devinfo"), "RXE_DM_PROFILE is rxe", "runs with tiny", "--keep")
        program = instance.start(["env", "RXE_DM_PROFILE=rxe", "ibv_devinfo"], options=["--keep"])
        program.wait(20)
        if "RXE_DM_PROFILE is not what" not in program.text() or not re.search(r"fw_ver:\s+1\.0\.0", program.text()):
            raise Failure(f"not told of the difference: {program.text()}")
        del instance.env["RXE_DM_PROFILE"]
        del instance.env["RXE_DM_ADDRESS"]  # who names an address asks for a new server
        os.kill(instance.server_pid(), 9)
        instance.run(["ibv_devinfo"])
        name = json.loads(instance.command("show", "--json").stdout)["devices"][0]["profile"]["name"]
        if name != "tiny":
            raise Failure(f"after a kill the profile is {name}")


def ordinary_user(build):
    """A file in a home directory, by a user without rights."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("this is an ordinary user already: every test shows it")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = write(folder, "max_qp = 2\n")
        with Instance(build, "profile_nobody", prefix=as_nobody(), profile=path) as instance:
            need_reachable(instance, build)
            if instance.command("start").returncode != 0:
                raise Failure("the file was refused")
            check_keys(instance)


CASES = {f"profile_{name}": functools.partial(installed, name=name) for name in INSTALLED}
CASES.update(profile_own_file=own_file, profile_errors=errors, profile_differs=differs,
             profile_ordinary_user=ordinary_user)
