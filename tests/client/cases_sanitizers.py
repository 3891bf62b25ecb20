# SPDX-License-Identifier: MIT
"""Programs that are built with a sanitizer, or run under valgrind: with the device they just run, and what they find they still find."""

import functools
import os
import shutil
import subprocess
import sys
import tempfile

from cases_view import need
from instance import Instance, need_program
from program import Failure, Skip

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sanitized.c")
GOOD = (r"^rxe_dm0 works$", r"^ended$")
SHARED_CLANG = ("-shared-libasan", "-Wl,-rpath,{runtimes}")

# compiler, its options, and the bugs with what the sanitizer says of each.
ADDRESS = {"overflow": "heap-buffer-overflow", "readlink": "heap-buffer-overflow", "leak": "1234 byte\\(s\\) leaked"}
KINDS = {
    "gcc_address": ("gcc", ("-fsanitize=address",), ADDRESS),
    "gcc_address_static": ("gcc", ("-fsanitize=address", "-static-libasan"), ADDRESS),
    "gcc_thread": ("gcc", ("-fsanitize=thread",), {"race": "data race"}),
    "gcc_undefined": ("gcc", ("-fsanitize=undefined", "-fno-sanitize-recover=all"), {"shift": "shift exponent"}),
    "gcc_leak": ("gcc", ("-fsanitize=leak",), {"leak": "1234 byte\\(s\\) leaked"}),
    "clang_address": ("clang", ("-fsanitize=address",), ADDRESS),
    "clang_address_shared": ("clang", ("-fsanitize=address", *SHARED_CLANG), ADDRESS),
    "clang_thread": ("clang", ("-fsanitize=thread",), {"race": "data race"}),
    "clang_undefined": ("clang", ("-fsanitize=undefined", "-fno-sanitize-recover=all"), {"shift": "shift exponent"}),
}


def make(folder, compiler, options):
    need_program(compiler)
    if os.environ.get("RXE_TEST_SANITIZER"):
        raise Skip("the libraries have a sanitizer of their own")
    path = os.path.join(folder, "program")
    found = subprocess.run([compiler, "-print-runtime-dir"], capture_output=True, text=True, check=False)
    if "{runtimes}" in "".join(options) and not os.path.isdir(found.stdout.strip()):
        found = subprocess.run([compiler, "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True, text=True, check=True)
        found.stdout = os.path.dirname(found.stdout)
    options = [option.format(runtimes=found.stdout.strip()) for option in options]
    made = subprocess.run([compiler, "-g", "-w", *options, SOURCE, "-o", path, "-libverbs", "-lpthread"], capture_output=True, text=True,
                          check=False)
    if made.returncode != 0:
        raise Skip(f"{compiler} {' '.join(options)}: {made.stderr}")
    if subprocess.run([path, "nothing"], capture_output=True, check=False).returncode < 0:
        raise Skip(f"what {compiler} {' '.join(options)} makes does not run on this machine")
    return path


def program(build, kind):
    compiler, options, bugs = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder, Instance(build, kind) as instance:
        path = make(folder, compiler, options)
        text = instance.run([path])
        need(text, *GOOD)
        if "WARNING" in text or "ERROR" in text:
            raise Failure(f"{kind}: a finding in a program without a bug")
        for bug, words in bugs.items():
            started = instance.start([path, bug])
            if started.wait(60) == 0:
                raise Failure(f"{kind}: {bug} not found")
            need(started.text(), GOOD[0], words)


CHILD = "import subprocess, sys; sys.exit(subprocess.run([sys.argv[1]]).returncode)"
MAKEFILE = "check:\n\tASAN_OPTIONS=detect_leaks=1 {path}\n"
CTEST = "cmake_minimum_required(VERSION 3.18)\nproject(x NONE)\nenable_testing()\nadd_test(NAME x COMMAND {path})\n"


def children(build):
    """The program is a child of what `rxe_dm run` starts, and may get an environment of its own."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "children") as instance:
        path = make(folder, "gcc", ("-fsanitize=address",))
        need(instance.run(["sh", "-c", f"true && {path}"]), *GOOD)
        need(instance.run(["sh", "-c", f"true && env -u ASAN_OPTIONS {path}"]), *GOOD)
        need(instance.run([sys.executable, "-c", CHILD, path]), *GOOD)
        with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as f:
            f.write(MAKEFILE.format(path=path))
        if shutil.which("make"):
            need(instance.run(["make", "-C", folder]), *GOOD)
        if shutil.which("ctest"):
            with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as f:
                f.write(CTEST.format(path=path))
            subprocess.run(["cmake", "-S", folder, "-B", folder + "/b"], check=True, capture_output=True)
            need(instance.run(["ctest", "--test-dir", folder + "/b", "-V"]), "rxe_dm0 works", "100% tests passed")


def own_options(build):
    """A program with default options of its own, and one that has options from its caller, which still hold."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "own_options") as instance:
        path = make(folder, "gcc", ("-fsanitize=address", "-DOWN_OPTIONS"))
        need(instance.run([path]), *GOOD)
        need(instance.run([path, "leak"], env={"ASAN_OPTIONS": "detect_leaks=0"}), *GOOD)


def rsockets(build):
    """The second library that is preloaded, alone."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "rsockets", options=["--view", "none", "--rsockets"]) as instance:
        path = make(folder, "gcc", ("-fsanitize=address",))
        text = instance.run(["sh", "-c", f"env -u ASAN_OPTIONS {path}"], expect=None)
        need(text, "FAILED: /sys/class/infiniband")
        if "ASan runtime" in text:
            raise Failure("librspreload.so keeps the program from running")


def valgrind(build):
    """Below `rxe_dm run` and above it; the program's own mistake is found, and no other."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "valgrind") as instance:
        need_program("valgrind")
        path = make(folder, "gcc", ())
        check = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]
        instance.command("start")
        need(instance.run([*check, path]), *GOOD)
        need(instance.run([*check, path, "overflow"], expect=9), GOOD[0], "Invalid write of size 1")
        for options, expected in (([], 0), (["--trace-children=yes"], 9)):
            instance.prefix = [*check, *options]
            need(instance.run([path, "overflow"], expect=expected), *GOOD)
        need(instance.run([path]), *GOOD)
        instance.prefix = []


def valgrind_pair(build, link):
    """Two programs exchange messages under valgrind, which refuses to copy mappings (mremap): the memory link does without."""
    need_program("valgrind")
    with Instance(build, "valgrind", link=link) as instance:
        instance.command("start")
        instance.prefix = ["valgrind", "-q", "--error-exitcode=9", "--trace-children=yes"]
        instance.pair(["ibv_rc_pingpong", "-g", "0", "-c", "-n", "200"])
        instance.prefix = []


CASES = {f"sanitizer_{kind}": functools.partial(program, kind=kind) for kind in KINDS}
CASES["sanitizer_children"] = children
CASES["sanitizer_own_options"] = own_options
CASES["sanitizer_rsockets"] = rsockets
CASES["valgrind"] = valgrind
for link in ("udp", "memory"):
    CASES[f"valgrind_pair_{link}"] = functools.partial(valgrind_pair, link=link)
