#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bash completion: the file is loaded by bash, every command and option of the help is completed, and Tab works.

usage: completion.py FILE PATH/rxe_dm"""

import os
import pty
import re
import select
import subprocess
import sys

# Sources the file, then calls what it registers as bash does: $1 is the last of COMP_WORDS.
ASK = """set -u
source "$1" || exit 3
shift
function=$(complete -p rxe_dm | sed 's/.*-F \\([^ ]*\\).*/\\1/')
compopt() { :; } # bash allows it while it completes only
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"$function" rxe_dm "${COMP_WORDS[COMP_CWORD]#=}" "${COMP_WORDS[COMP_CWORD - 1]}"
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
"""
# What is in no table: typed words, and what must be among the candidates, or alone ("=").
TYPED = [
    (["ru"], ["=", "run"]),
    (["start", "--link", "m"], ["=", "memory"]),
    (["start", "--link", "=", "e"], ["=", "ethernet"]),
    (["start", "--link", "udp", "--tra"], ["=", "--trains"]),
    (["start", "--allow-users", ""], ["=", "all"]),
    (["start", "--devices", ""], ["="]),
    (["start", "--interface", "l"], ["lo"]),
    (["start", "--faults", "/proc/self/comm"], ["=", "/proc/self/comm"]),
    (["capture", "--both", "/proc/self/comm"], ["=", "/proc/self/comm"]),
    (["explore", "--worlds", "l"], ["=", "legal", "lossy"]),
    (["explore", "--ti"], ["=", "--time", "--timeout"]),
    (["explore", "--seed", "3", "--", "/bin/bas"], ["/bin/bash"]),
    (["report", "--out"], ["=", "--output"]),
    (["report", "/proc/self/comm"], ["=", "/proc/self/comm"]),
    (["report", "-o", "/proc/self/comm"], ["=", "/proc/self/comm"]),
    (["fault", "li"], ["=", "list"]),
    (["fault", "list", "--js"], ["=", "--json"]),
    (["fault", "add", "drop", "opc"], ["=", "opcode="]),
    (["fault", "add", ""], ["drop", "completion", "cm_reject", "nth="]),
    (["rdma", "stat"], ["=", "statistic"]),
    (["lab", "d"], ["=", "down"]),
    (["lab", "up", "/proc/self/comm"], ["=", "/proc/self/comm"]),
    (["run", "--view", "pre"], ["=", "preload"]),
    (["run", "--rsockets", "--", "/bin/bas"], ["/bin/bash"]),
    (["run", "bas"], ["bash"]),
    (["run", "bash", "--vie"], ["="]),
    (["--help", "--"], ["="]),
    (["there-is-none", "--"], ["="]),
]


def main():
    file, folder = sys.argv[1], os.path.dirname(os.path.abspath(sys.argv[2]))
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": "/nonexistent", "PS1": "$ ", "TERM": "dumb"}
    complaints = []

    def said(*args):
        return subprocess.run(["rxe_dm", *args], env=env, capture_output=True, text=True, check=True, timeout=60).stdout

    def completed(*words):
        done = subprocess.run(["bash", "-c", ASK, "bash", file, "rxe_dm", *words], env=env, capture_output=True,
                              text=True, check=False, timeout=60)
        if done.returncode not in (0, 1) or done.stderr:
            complaints.append(f"rxe_dm {' '.join(words)}: exit {done.returncode}: {done.stderr}")
        return set(done.stdout.split("\n")) - {""}

    commands = re.findall(r"^  (\w+) ", said("--help"), re.MULTILINE)
    if len(commands) < 7 or completed("") != set(commands) | {"--help", "--version"}:
        complaints.append(f"commands: the help has {commands}, completed is {completed('')}")
    for command in commands:
        options = re.findall(r"^  (--[\w-]+)", said(command, "--help"), re.MULTILINE)
        absent = set(options) - completed(command, "--")
        if absent or not (options or command in ("rdma", "lab")):
            complaints.append(f"{command}: of {options} not completed: {absent}")
    settings = set(re.findall(r"^  (--[\w-]+)", said("start", "--help"), re.MULTILINE)) - {"--foreground"}
    for command in ("run", "capture", "fault"):
        if not settings <= completed(command, "--"):
            complaints.append(f"{command}: not completed: {settings - completed(command, '--')}")
    for words, expected in TYPED:
        found = completed(*words)
        alone = expected[:1] == ["="]
        wanted = set(expected) - {"="}
        if not wanted <= found or (alone and found != wanted):
            complaints.append(f"rxe_dm {' '.join(words)}: expected {expected}, got {sorted(found)[:20]}")
    complaints += typed_on_a_terminal(file, env)
    print("\n".join(complaints) or f"{len(commands)} commands, {len(settings)} settings")
    return 1 if complaints else 0


def typed_on_a_terminal(file, env):
    """A shell that a person types into: 'rxe_dm ru', Tab, and the command that results runs."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)
    heard = b""

    def until(text):
        nonlocal heard
        while text not in heard:
            if not select.select([fd], [], [], 60)[0]:
                return False
            try:
                heard += os.read(fd, 4096)
            except OSError:
                return False
        heard = heard.split(text, 1)[1]
        return True

    try:
        os.write(fd, f"source '{file}' && echo was-$((40 + 2))\n".encode())
        if not until(b"was-42"):
            return ["a terminal: the file was not loaded"]
        os.write(fd, b"rxe_dm ru\t--he\t\n")
        if not until(b"rxe_dm run --help") or not until(b"usage: rxe_dm run"):
            return [f"a terminal: 'rxe_dm ru', Tab, '--he', Tab: {heard.decode(errors='replace')}"]
        return []
    finally:
        os.write(fd, b"\nexit\n")
        until(b"\0")  # to its end
        os.close(fd)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main())
