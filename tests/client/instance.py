# SPDX-License-Identifier: MIT
"""An instance of the device for one test: a name and an address of its own, and everything it started ended with it."""

import fcntl
import json
import os
import random
import re
import shutil
import socket
import subprocess

from program import Failure, Program, Skip, end_all, patient

TIMEOUT_S = 60


class Instance:
    """with Instance(build, 'name') as i: i.pair(['ibv_rc_pingpong', '-g', '0']). Prints all outputs when it fails."""

    def __init__(self, build, name, address=None, peer_name="127.0.0.1", prefix=(), options=(), **settings):
        """settings: RXE_DM_* in lower case; prefix: what to run every program under (setpriv, nsenter); options: of
        rxe_dm run."""
        self.build = build
        self.prefix = list(prefix)
        self.options = list(options)
        self.peer_name = peer_name
        self.address = address or address_of_its_own()
        self.network = None
        self.programs = []
        self.env = clean_environment()
        self.env["RXE_DM_INSTANCE"] = f"{name[:20]}-{os.getpid()}"
        self.env["RXE_DM_ADDRESS"] = self.address
        # Longer than a busy machine may stop a test between two of its programs.
        self.env["RXE_DM_LINGER"] = "120"
        if os.environ.get("RXE_TEST_WORST"):
            self.env["RXE_DM_WORST"] = os.environ["RXE_TEST_WORST"]
        if os.environ.get("RXE_TEST_CHECK"):
            self.options.append("--check=" + os.environ["RXE_TEST_CHECK"])
        if os.environ.get("RXE_TEST_LINK"):
            self.env["RXE_DM_LINK"] = os.environ["RXE_TEST_LINK"]
        self.env.update({f"RXE_DM_{key.upper()}": str(value) for key, value in settings.items()})
        self.command_path = os.path.join(build, "rxe_dm", "rxe_dm")
        if not os.access(self.command_path, os.X_OK):
            raise Skip(f"{self.command_path} is not built")

    def __enter__(self):
        # The birth of a server shares its parent's memory for a moment, which confuses the thread sanitizer.
        if self.address == "::1":
            self.network = alone_in_this_network()
        if "libtsan" in os.environ.get("RXE_TEST_SANITIZER", ""):
            self.command("start")
        return self

    def __exit__(self, kind, value, _trace):
        end_all(self.programs)
        if kind is not None and kind is not Skip:
            self.describe()
        self.stop()
        for program in self.programs:
            program.log.close()
        if self.network:
            self.network.close()
        return False

    def describe(self):
        for program in self.programs:
            print(program.describe())
        shown = self.command("show")
        print(f"--- rxe_dm show ({shown.returncode})\n{shown.stdout}{shown.stderr}", flush=True)

    def stop(self):
        """The server is asked to end; it is nobody's child, so its number is all we have of it."""
        server = self.server_pid()
        self.command("stop")
        if server and process_is_there(server):
            raise Failure(f"the device server {server} outlived 'rxe_dm stop'")

    def command(self, *args, timeout_s=20):
        """Run the rxe_dm command itself, to its end."""
        timeout_s = patient(timeout_s)
        try:
            return subprocess.run(self.prefix + [self.command_path, *args], env=self.env,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"rxe_dm {' '.join(args)}: still running after {timeout_s} s") from None

    def show(self):
        shown = self.command("show", "--json")
        if shown.returncode != 0:
            raise Failure(f"rxe_dm show --json: {shown.returncode}: {shown.stderr}")
        return json.loads(shown.stdout)

    def need_shown(self, pattern):
        """rxe_dm show must print a line that matches."""
        text = self.command("show").stdout
        if not re.search(pattern, text, re.MULTILINE):
            raise Failure(f"rxe_dm show does not say '{pattern}':\n{text}")

    def server_pid(self):
        shown = self.command("show", "--json")
        try:
            return int(json.loads(shown.stdout)["pid"])
        except (ValueError, KeyError, TypeError):
            return None

    def start(self, args, title=None, env=None, options=()):
        """Start a program with the device; it is ended with the instance. options: of rxe_dm run."""
        need_program(args[0])
        environment = dict(self.env, **sanitizer_environment(), **(env or {}))
        program = Program(title or args[0], self.prefix + [self.command_path, "run", *self.options, *options, "--", *args],
                          environment)
        self.programs.append(program)
        return program

    def run(self, args, timeout_s=TIMEOUT_S, expect=0, env=None):
        """Run one program with the device to its end; what it printed."""
        program = self.start(args, env=env)
        status = program.wait(timeout_s)
        if expect is not None and status != expect:
            raise Failure(f"{' '.join(args)}: exit {status}, expected {expect}")
        return program.text()

    def serve(self, args, port):
        server = self.start(with_port(args, port), title=args[0] + " (server)")
        server.wait_listening(port)
        return server

    def join(self, args, port, peer=None):
        """The client's side; peer: the instance that serves, when it is another one."""
        name = (peer or self).peer_name
        return self.start(with_port(args, port) + [name], title=args[0] + " (client)")

    def pair(self, server_args, client_args=None, timeout_s=TIMEOUT_S, peer=None):
        """A server and its client, both to a good end; what they printed. peer: who runs the client's side."""
        port = free_port()
        server = self.serve(server_args, port)
        client = (peer or self).join(client_args or server_args, port, self)
        for program in (client, server):
            status = program.wait(timeout_s)
            if status != 0:
                raise Failure(f"{program.title}: exit {status}: {' '.join(program.args)}")
        return server.text(), client.text()


def with_port(args, port):
    """perftest's queue pairs give up after 8 times 67 ms without an answer: on a busy machine a peer may not run for as long.
    -u 18 makes that 8 times 1 s."""
    timer = ["-u", "18"] if args[0].startswith("ib_") and "-u" not in args else []
    return [args[0], "-p", str(port), *timer, *args[1:]]


def need_program(name):
    if "/" not in name and not shutil.which(name, path=search_path()):
        raise Skip(f"{name} is not installed")


def search_path():
    return os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"


# UCX takes all huge pages that are free (huge in UCX_ALLOC and UCX_ALLOC_PRIO), and other tests reserve some for themselves.
NO_HUGE_PAGES = {"UCX_ALLOC": "thp,md,mmap,heap", "UCX_ALLOC_PRIO": "md:sysv,md:posix,thp,md:*,mmap,heap",
                 "UCX_MM_HUGETLB_MODE": "n"}


def clean_environment():
    """What the person has, without settings of ours that would leak into the test."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("RXE_DM_")}
    env["PATH"] = search_path()
    env["LC_ALL"] = "C.UTF-8"
    for name in ("MALLOC_PERTURB_", "LD_LIBRARY_PATH", "PYTHONPYCACHEPREFIX"):  # the test runner's
        env.pop(name, None)
    return env | NO_HUGE_PAGES


def sanitizer_environment():
    """A sanitized library needs its runtime loaded before the program; its reports must end the program."""
    runtime = os.environ.get("RXE_TEST_SANITIZER")
    if not runtime:
        return {}
    return {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:exitcode=99",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99",
            "TSAN_OPTIONS": "exitcode=99:halt_on_error=1:ignore_noninstrumented_modules=1:"
                            "die_after_fork=0:handle_segv=0:handle_sigbus=0"}


def address_of_its_own():
    """Any address of 127.0.0.0/8 works on loopback; tests run beside each other, so take one at random."""
    return f"127.{random.randint(64, 250)}.{random.randint(1, 254)}.{random.randint(1, 254)}"


def alone_in_this_network():
    """A network namespace has one ::1: the holder of the lock uses it. Closing the file releases the lock."""
    lock = open("/proc/self/ns/net", "rb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def free_port():
    """Below the ephemeral range, so that no outgoing connection takes it in between."""
    for _ in range(100):
        port = random.randint(20000, 32000)
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as s:
            try:
                s.bind(("::", port))
            except OSError:
                continue
            return port
    raise Failure("no free TCP port between 20000 and 32000")


def process_is_there(pid):
    """A process that has not ended; a zombie has."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
