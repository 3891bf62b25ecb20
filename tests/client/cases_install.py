# SPDX-License-Identifier: MIT
"""An installation: a program built against what it put where, beside the distribution's headers, runs with it."""

import os
import re
import shutil
import subprocess
import tempfile

from instance import Instance
from program import Failure, Skip

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "examples")
# Each header must do for C++ too, alone, and twice.
PLAIN = """#include <infiniband/verbs.h>
#include <rxe_dm/newer.h>
#include <rxe_dm/newer.h>
struct ibv_dmah_init_attr hints;
struct ibv_mr_init_attr region;
struct mlx5dv_export_sizes sizes;
int main(void)
{
	mlx5dv_get_export_sizes(&sizes);
	return sizes.devx_umem_attrs_size == 16 ? 0 : 1;
}
"""


def run(args, **more):
    done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=120, **more)
    if done.returncode != 0:
        raise Failure(f"{' '.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def find(folder, name, under=""):
    for where, _, files in os.walk(folder):
        if name in files and where.endswith(under):
            return os.path.join(where, name)
    raise Failure(f"{name} was not installed")


def install(build, folder):
    """Moved as a whole: the folder stands before the prefix."""
    for tool in ("meson", "pkg-config", "cc"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder])
    pc = find(folder, "rxe_dm.pc")
    with open(pc, encoding="ascii") as f:
        prefix = re.search(r"^prefix=(.*)$", f.read(), re.MULTILINE).group(1)
    # With the default prefix, pkg-config must look there by itself, whatever packages the machine has.
    looked_in = run(["pkg-config", "--variable", "pc_path", "pkg-config"]).strip().split(":")
    if prefix == "/usr/local" and os.path.dirname(pc)[len(folder):] not in looked_in:
        raise Failure(f"{pc[len(folder):]}: pkg-config looks only in {looked_in}")
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc))
    ask = ["pkg-config", f"--define-variable=prefix={folder}{prefix}"]
    run(ask + ["--print-errors", "--exists", "rxe_dm"], env=env)
    return [run(ask + [what, "rxe_dm"], env=env).split() for what in ("--cflags", "--libs")]


def compile_all(folder, cflags, libs):
    """The examples as they are, and the headers for C and C++; a sanitized library leaves symbols to its runtime."""
    loose = ["-Wl,--allow-shlib-undefined"] if os.environ.get("RXE_TEST_SANITIZER") else []
    for name, more in {"dm_share": [], "dmah": [], "umem_share": ["-lmlx5"]}.items():
        sources = [os.path.join(EXAMPLES, file) for file in (name + ".c", "rc.c")]
        run(["cc", "-Wall", "-Werror", "-D_GNU_SOURCE", *cflags, *sources, "-o", os.path.join(folder, name),
             *loose, *libs, *more])
    for compiler, suffix in (("cc", ".c"), ("c++", ".cc")):
        if not shutil.which(compiler):
            continue
        source = os.path.join(folder, "plain" + suffix)
        with open(source, "w", encoding="ascii") as f:
            f.write(PLAIN)
        run([compiler, "-Wall", "-Werror", *cflags, source, "-o", os.path.join(folder, "plain" + suffix[1:]),
             *loose, *libs, "-lmlx5"])


def installed(build):
    with tempfile.TemporaryDirectory() as folder, Instance(build, "installed", mlx5="on") as instance:
        root = os.path.join(folder, "root")
        cflags, libs = install(build, root)
        compile_all(folder, cflags, libs)
        instance.command_path = find(root, "rxe_dm", "bin")
        said = instance.run(["ibv_devices"])
        for name in ("dm_share", "umem_share", "dmah", "plainc", "plaincc"):
            if os.path.exists(os.path.join(folder, name)):
                said += instance.run([os.path.join(folder, name)])
        for line in ("rxe_dm0", "now finds \"bytes of the first process\"", "memory of the first process",
                     "PH 2, volatile memory"):
            if line not in said:
                raise Failure(f"nothing said '{line}'")
        if not os.readlink(f"/proc/{instance.server_pid()}/exe").startswith(root):
            raise Failure("the server is not the installed one")


def manual(build):
    """The pages are without warnings, and the limits they name are what a program is told."""
    pages = [os.path.join(EXAMPLES, "..", "docs", page) for page in ("rxe_dm.1", "rxe_dm.7", "rxe_dm-profile.5")]
    if shutil.which("groff"):
        for page in pages:
            done = subprocess.run(["groff", "-t", "-man", "-ww", "-z", page], capture_output=True, text=True, check=False)
            if done.returncode or done.stderr:
                raise Failure(f"{page}: {done.stderr}")
    with open(pages[1], encoding="ascii") as f:
        limits = dict(re.findall(r"^(\w+)(?: \*)?\t(\w+)$", f.read(), re.MULTILINE))
    with Instance(build, "manual") as instance:
        told = dict(re.findall(r"(\w+):\t+(\w+)", instance.run(["ibv_devinfo", "-v"])))
    if len(limits) < 15:
        raise Failure(f"only {len(limits)} limits were found in the page")
    for name, value in limits.items():
        if told.get(name) != value:
            raise Failure(f"{name}: the page says {value}, the device {told.get(name)}")


CASES = {"installed": installed, "manual": manual}
