# SPDX-License-Identifier: MIT
"""The rxe_dm command and its server: two instances, ordinary users, and what a person may get wrong."""

import contextlib
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from cases_trouble import all_values
from instance import Instance, free_port
from program import Failure, Skip, patient, until

NOBODY = "65534"


def need_line(done, *words):
    """It was refused, in few lines, and they say these words."""
    text = done.stdout + done.stderr
    if done.returncode == 0:
        raise Failure(f"{done.args}: accepted")
    if done.returncode < 0:
        raise Failure(f"{done.args}: died of signal {-done.returncode}")
    for word in words:
        if not re.search(word, text):
            raise Failure(f"{done.args}: no '{word}' in: {text}")


def bad_commands(build):
    with Instance(build, "bad_commands") as instance:
        need_line(instance.command(), "start|usage|Usage")
        need_line(instance.command("dance"), "dance")
        need_line(instance.command("show", "--yaml"), "yaml")
        need_line(instance.command("run"), "run")
        need_line(instance.command("fault", "add"), "fault add which rule")
        need_line(instance.command("start", "--arena", "much"), "much")
        need_line(instance.command("start", "--devices", "-3"), "-3|devices")
        need_line(instance.command("start", "--address", "not.an.address"), "not.an.address")
        need_line(instance.command("start", "--address", "192.0.2.77"), "192.0.2.77")
        if instance.command("--help").returncode != 0:
            raise Failure("--help is no failure")
        need_line(instance.command("run", "--", "no_such_program_here"), "no_such_program_here")


def bad_settings(build):
    with Instance(build, "bad_settings") as instance:
        instance.env["RXE_DM_ARENA"] = "-1"
        need_line(instance.command("start"), "RXE_DM_ARENA|arena")
        instance.env["RXE_DM_ARENA"] = "64M"
        instance.env["RXE_DM_INSTANCE"] = "../" + "x" * 300
        need_line(instance.command("start"), "RXE_DM_INSTANCE|instance")
        instance.env["RXE_DM_INSTANCE"] = f"bad-{os.getpid()}"


def run_checks_settings(build):
    """What a server would refuse, `rxe_dm run` refuses; the program is not started."""
    veth = ["--link", "ethernet", "--interface", "lo", "--address", "192.0.2.1/24"]
    prefix = as_nobody() if os.geteuid() == 0 and shutil.which("setpriv") else []
    with Instance(build, "run_checks", prefix=prefix) as instance:
        need_reachable(instance, build)
        for options, words in ((["--address", "8.8.8.8"], ["8.8.8.8 is no address of this machine"]),
                               (["--link", "ethernet"], ["--link ethernet needs an interface"]),
                               (veth, ["lo|Ethernet|CAP_NET_RAW"])):
            done = instance.command("run", *options, "--", "echo", "the program runs")
            need_line(done, "^rxe_dm: ", *words)
            if "the program runs" in done.stdout:
                raise Failure(f"{options}: the program was started")
        done = instance.command("run", "--", "echo", "the program runs")
        if done.returncode != 0 or "the program runs" not in done.stdout or not instance.server_pid():
            raise Failure(f"run: {done.returncode}, {done.stdout}{done.stderr}")


def run_contradicts(build):
    """Settings that a running server does not have: the program is not started, and a line names both values."""
    with Instance(build, "contradicts") as instance:
        instance.command("start", "--devices", "1")
        mine = instance.address
        for options, words in ((["--address", "127.9.9.9"], ["RXE_DM_ADDRESS is 127.9.9.9", f"runs with {mine}", "--keep"]),
                               (["--link", "memory"], ["RXE_DM_LINK is memory", "runs with udp"]),
                               (["--arena", "1M"], ["RXE_DM_ARENA is 1M", "runs with 65536K"]),
                               (["--mlx5", "on"], ["RXE_DM_MLX5 is on", "runs with off"])):
            done = instance.command("run", *options, "--", "echo", "the program runs")
            need_line(done, *words)
            if "the program runs" in done.stdout:
                raise Failure(f"{options}: the program was started")
            done = instance.command("run", *options, "--keep", "--", "ibv_devinfo")
            if done.returncode or "changes nothing" in done.stderr or "127.9.9.9" in done.stderr:
                raise Failure(f"{options} --keep: {done.returncode}, {done.stderr}")
        for same in (["--address", mine], ["--arena", "65536K"], ["--link", "udp", "--devices", "1"], ["--link", "auto"], ["--trains", "off"]):
            done = instance.command("run", *same, "--", "ibv_devinfo")
            if done.returncode or done.stderr:
                raise Failure(f"{same}: {done.returncode}, {done.stderr}")


def second_instance(build):
    """Without settings a second instance has another address than programs expect, and says so."""
    with Instance(build, "default_first", address="127.0.0.1") as first, Instance(build, "default_second") as second:
        first.command("start")
        del second.env["RXE_DM_ADDRESS"]
        done = second.command("run", "--", "ibv_devices")
        if done.returncode or not re.search(r"rxe_dm0 has the address 127\.0\.0\.\d+, because 127\.0\.0\.1 is in use", done.stderr):
            raise Failure(f"{done.returncode}, {done.stderr}")


ONE_INTERFACE = "ip link set lo up; ip link add v0 type veth peer name v1; ip addr add 10.77.9.1/24 dev v0; ip link set v0 up; ip link set v1 up; " \
    "until ip -o link show v0 | grep -q 'state UP' && ip -o link show v1 | grep -q 'state UP'; do sleep 0.01; done"
TWO_INTERFACES = ONE_INTERFACE + "; ip addr add 10.77.8.1/24 dev v1"


def only_address(build):
    """In a network namespace with one interface the device takes its address on request, and a line says how; loopback is the default."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        raise Skip("a network namespace needs root, unshare and ip")
    can_hint = os.access("/proc/1/ns/net", os.R_OK)  # the hint is for namespaces other than that of process 1
    hint = "rxe_dm0 has the address 127.0.0.1, which is not reached .*--address auto .* takes 10.77.9.1"
    with Instance(build, "only_address") as instance:
        del instance.env["RXE_DM_ADDRESS"]
        for network, options, address, is_hinted in ((ONE_INTERFACE, ["--address", "auto"], "10.77.9.1", False),
                                                     (ONE_INTERFACE, [], "127.0.0.1", can_hint), (TWO_INTERFACES, [], "127.0.0.1", False)):
            ends = f'"$@"; {instance.command_path} show; {instance.command_path} stop'
            instance.prefix = ["unshare", "-n", "sh", "-c", f"{network}; {ends}", "sh"]
            done = instance.command("run", *options, "--", "ibv_devices")
            if f"GID 0: ::ffff:{address}," not in done.stdout or bool(re.search(hint, done.stderr)) != is_hinted:
                raise Failure(f"{options}, {network}: {done.stdout}{done.stderr}")
        instance.prefix = ["unshare", "-n", "sh", "-c", f'{TWO_INTERFACES}; exec "$@"', "sh"]
        need_line(instance.command("run", "--address", "auto", "--", "true"), "--address is 'auto'", "where one interface is up")
        instance.prefix = []


def elsewhere(build):
    """An instance that runs in another network namespace: the commands say where, and how to get there."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("nsenter"):
        raise Skip("a network namespace needs root, unshare and nsenter")
    with Instance(build, "elsewhere") as instance:
        instance.command("start")
        pid, net = instance.server_pid(), os.stat("/proc/self/ns/net").st_ino
        instance.prefix = ["unshare", "-n"]
        for command in (["show"], ["stop"], ["fault", "list"], ["rdma", "dev"], ["capture", "--count", "1", "/dev/null"]):
            done = instance.command(*command)
            said = re.search(r"runs in another network namespace, net:\[(\d+)\] \(process (\d+)\): '(nsenter .*)' reaches it", done.stderr)
            if not said or said.groups()[:2] != (str(net), str(pid)) or not said.group(3).endswith("rxe_dm " + command[0]):
                raise Failure(f"{command}: {done.returncode}, {done.stdout}{done.stderr}")
        path = said.group(3).replace("rxe_dm capture", f"{instance.command_path} show").split()
        instance.prefix = ["unshare", "-n"]
        shown = subprocess.run([*instance.prefix, *path], env=instance.env, capture_output=True, text=True, check=False)
        if f"process {pid}" not in shown.stdout:
            raise Failure(f"{path}: {shown.stdout}{shown.stderr}")
        instance.prefix = []
        instance.command("stop")
        if instance.command("show").stderr:
            raise Failure("an instance that has ended runs elsewhere")


def no_proc(build):
    """Without /proc the command does not find its library, and says why."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("mount"):
        raise Skip("hiding /proc needs root, unshare and mount")
    with Instance(build, "no_proc") as instance:
        instance.prefix = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        need_line(instance.command("run", "--", "ibv_devices"), "/proc/self/exe", "is /proc mounted")
        instance.prefix = []


STATIC = ["cc", "-x", "c", "-", "-Wl,-Bstatic", "-libverbs", "-Wl,-Bdynamic", "-lnl-route-3", "-lnl-3"]
LISTS = "#include <infiniband/verbs.h>\nint main(void) { return !ibv_get_device_list(0); }\n"


def own_libibverbs(build):
    """A program that brings its own libibverbs, or is setuid, runs, and one line says why it finds no device."""
    with tempfile.TemporaryDirectory() as folder, Instance(build, "own_libibverbs") as instance:
        os.chmod(folder, 0o755)
        path = os.path.join(folder, "own")
        try:
            made = subprocess.run([*STATIC, "-o", path], input=LISTS, text=True, capture_output=True, check=False)
        except FileNotFoundError:
            raise Skip("there is no compiler") from None
        if made.returncode != 0:
            raise Skip(f"no program with libibverbs.a in it can be made: {made.stderr}")
        instance.env["PATH"] = folder + ":" + instance.env["PATH"]
        need_notices(instance, "own", path + " has a libibverbs of its own linked into it")
        need_notices(instance, "ibv_devices")
        if os.geteuid() == 0 and shutil.which("setpriv"):
            shutil.copy(shutil.which("true"), os.path.join(folder, "trusted"))
            os.chmod(os.path.join(folder, "trusted"), 0o4755)
            need_notices(instance, "trusted")
            need_reachable(instance, build)
            instance.stop()
            instance.prefix = as_nobody()
            need_notices(instance, "trusted", "trusted is setuid")


def need_notices(instance, program, *words):
    done = instance.command("run", program)
    lines = [line for line in done.stderr.splitlines() if "finds no device" in line]
    if done.returncode not in (0, 1) or len(lines) != len(words) or not all(w in t for w, t in zip(words, lines)):
        raise Failure(f"{program}: {done.returncode}, {done.stderr}, expected {words}")


def busy_port(build):
    """Somebody else has UDP 4791 on the address that was asked for."""
    with Instance(build, "busy_port") as instance, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as squatter:
        squatter.bind((instance.address, 4791))
        need_line(instance.command("start"), re.escape(instance.address), "4791|in use")


def squatted_lock(build):
    """Somebody has the name by which servers tell each other of an address, and does not listen: not UDP is to blame."""
    with Instance(build, "squatted_lock") as instance, \
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as squatter:
        squatter.bind(f"\0rxe_dm/4791/{instance.address}")
        need_line(instance.command("start"), f"@rxe_dm/4791/{re.escape(instance.address)}", "does not listen")


def small_files(build):
    """A limit of file sizes is named, not the start of the server."""
    with Instance(build, "small_files") as instance:
        instance.prefix = ["sh", "-c", 'ulimit -f 100 && exec "$@"', "sh"]
        need_line(instance.command("start"), "ulimit -f")
        instance.prefix = []


def few_descriptors(build):
    """A program whose limit has no place for a device's descriptors is told of the limit."""
    with Instance(build, "few_descriptors") as instance:
        instance.command("start")
        for limit in (8, 12, 16):
            done = instance.command("run", "--", "sh", "-c", f'ulimit -n {limit} && exec ibv_devinfo')
            text = done.stdout + done.stderr
            if "Protocol error" in text or done.returncode and "ulimit -n" not in text:
                raise Failure(f"{limit} descriptors: {done.returncode}, {text}")


def few_descriptors_for_a_server(build):
    """A server starts, or says which limit to raise: whatever it opens as the first that it cannot have. With descriptors for some
    programs it says for how many."""
    with Instance(build, "few_for_server", slots=2) as instance:
        instance.prefix = ["sh", "-c", 'ulimit -n 400 && exec "$@"', "sh"]
        started = instance.command("start", "--slots", "256")
        programs = re.search(r"at most (\d+) programs at once", started.stdout + started.stderr)
        if not programs or f"0 of {programs[1]} programs" not in instance.command("show").stdout:
            raise Failure(f"{started.stdout}{started.stderr}, rxe_dm show: {instance.command('show').stdout}")
        instance.command("stop")
        for link in ("udp", "memory"):
            for limit in range(8, 28):
                instance.prefix = ["sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh"]
                done = instance.command("start", "--link", link)
                instance.prefix = []
                if done.returncode == 0:
                    instance.command("stop")
                    continue
                need_line(done, "raise the limit of descriptors")


GREETING = b"rxe_dmL1" + socket.inet_pton(socket.AF_INET6, "::ffff:127.9.9.9") + bytes(8)


def no_descriptor_left(build):
    """Connections take all descriptors of a server. It does not spin, and then serves each of its sockets again."""
    with Instance(build, "no_descriptor", link="udp", sysfs="1") as instance, contextlib.ExitStack() as sockets:
        instance.prefix = ["sh", "-c", 'ulimit -n 128 && exec "$@"', "sh"]
        instance.command("start")
        instance.prefix = []
        server = instance.server_pid()
        control = f"\0rxe_dm/{os.geteuid()}/{instance.env['RXE_DM_INSTANCE']}"
        refresh, = glob.glob(f"/dev/shm/rxe_dm.sysfs-*-{instance.env['RXE_DM_INSTANCE']}/refresh")
        with contextlib.ExitStack() as clients:
            for _ in range(100):
                connect(clients, control)
            until(lambda: len(os.listdir(f"/proc/{server}/fd")) >= 126, "server without descriptors")
            greeters = [connect(sockets, f"\0rxe_dm/4791/{instance.address}") for _ in range(3)]
            connect(clients, refresh, socket.SOCK_STREAM)
            need_idle(server)
        for greeter in greeters:
            greeter.send(GREETING)
            if greeter.recv(100)[:8] != GREETING[:8]:
                raise Failure("a greeting was not answered")
        if connect(sockets, refresh, socket.SOCK_STREAM).recv(1):
            raise Failure("the socket for counters sends something")
        instance.run(["ibv_devinfo"])


def connect(stack, name, kind=socket.SOCK_SEQPACKET):
    sock = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
    sock.settimeout(patient(10))
    sock.connect(name)
    return sock


def need_idle(pid):
    before = seconds_on_processors(pid)
    time.sleep(1)
    spent = seconds_on_processors(pid) - before
    if spent > 0.2:
        raise Failure(f"process {pid} spent {spent:.2f} s of a second on processors")


def seconds_on_processors(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


# A network namespace in which a program has the port for all addresses, as the kernel's rdma_rxe would.
EVERYWHERE = """
import socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
    taken.bind(("0.0.0.0", 4791))
    sys.exit(subprocess.call(sys.argv[1:]))
"""


def busy_everywhere(build):
    """No other address is the advice then."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        raise Skip("a network namespace needs root, unshare and ip")
    with Instance(build, "busy_everywhere",
                  prefix=["unshare", "-n", sys.executable, "-c", EVERYWHERE]) as instance:
        for address in (instance.address, None):
            if not address:
                instance.env.pop("RXE_DM_ADDRESS")
            need_line(instance.command("start"), "4791 is in use on all addresses", "rdma_rxe", "namespace")


WITHOUT_CALL = [sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_call.py")]


def refused_call(build):
    """A filter of system calls refuses what there is another way for."""
    for link in ("udp", "memory"):
        for call in ("getrandom", "madvise"):
            for error in ("EPERM", "ENOSYS"):
                with Instance(build, "refused_call", prefix=[*WITHOUT_CALL, call, error], link=link) as instance:
                    instance.pair(["ibv_rc_pingpong", "-c", "-g", "0", "-n", "50"])


def no_random_numbers(build):
    """Neither the system call nor the file: the message names both, and no memory is said to lack."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("hiding /dev/urandom needs root")
    hide = ["unshare", "-m", "sh", "-c", 'mount --bind /dev/null /dev/urandom && exec "$@"', "sh"]
    with Instance(build, "no_random", prefix=[*hide, *WITHOUT_CALL, "getrandom", "EPERM"]) as instance:
        done = instance.command("start")
        need_line(done, "no random numbers", "getrandom", "/dev/urandom")


def squatted_name(build):
    """A name taken by somebody else must be refused, not talked to."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("playing another user needs root and setpriv")
    with Instance(build, "squatted") as instance, \
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as squatter:
        name = f"\0rxe_dm/{NOBODY}/{instance.env['RXE_DM_INSTANCE']}"
        squatter.bind(name)
        squatter.listen(1)
        need_reachable(instance, build)
        instance.prefix = as_nobody()
        need_line(instance.command("show"), "another user|other user|user 0|not yours|held by")


def as_nobody():
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def need_reachable(instance, build):
    """An ordinary user must be able to run what was built: not so below a home folder with mode 700."""
    folder = os.path.realpath(build)
    while folder != "/":
        if not os.stat(folder).st_mode & 0o001:
            raise Skip(f"an ordinary user may not enter {folder}")
        folder = os.path.dirname(folder)
    if not os.stat(instance.command_path).st_mode & 0o001:
        raise Skip("an ordinary user may not run the command")


def ordinary_user(build):
    """The whole of it without any privilege."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("this is an ordinary user already: every test shows it")
    with Instance(build, "ordinary_user", prefix=as_nobody()) as instance:
        need_reachable(instance, build)
        instance.pair(["ibv_rc_pingpong", "-c", "-g", "0"])
        instance.pair(["ibv_rc_pingpong", "-c", "-j", "-e", "-g", "0"])


def two_instances(build):
    """Side by side, each with its own address; they never see each other's packets."""
    with Instance(build, "first") as one, Instance(build, "second") as two:
        one.pair(["ibv_rc_pingpong", "-c", "-g", "0"])
        before = packets_received(two)
        one.pair(["ibv_rc_pingpong", "-c", "-g", "0"])
        if packets_received(two) != before:
            raise Failure("the second instance saw the first one's packets")
        two.pair(["ibv_rc_pingpong", "-c", "-g", "0"])
        if one.server_pid() == two.server_pid():
            raise Failure("both are one server")


def packets_received(instance):
    instance.run(["ibv_devices"])
    return sum(all_values(instance.show(), "rcvd_pkts"))


def across_instances(build):
    """Two instances talk to each other as two machines do."""
    with Instance(build, "left") as one, Instance(build, "right") as two:
        one.pair(["ibv_rc_pingpong", "-c", "-g", "0"], peer=two)


def low_memlock(build):
    """Too small a limit is a notice, not a failure; `rxe_dm show` says how much is locked."""
    if os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("prlimit"):
        raise Skip("root may lock all it likes: becoming somebody else needs root, setpriv and prlimit")
    with Instance(build, "low_memlock", prefix=["prlimit", "--memlock=65536:65536"] + as_nobody(),
                  arena_pages="small") as instance:
        need_reachable(instance, build)
        started = instance.command("start")
        if started.returncode != 0 or "ulimit -l" not in started.stdout + started.stderr:
            raise Failure(f"start: {started.returncode}, no word of 'ulimit -l': {started.stdout}{started.stderr}")
        if "64 KiB locked" not in instance.command("show").stdout:
            raise Failure("rxe_dm show does not say '64 KiB locked'")
        instance.pair(["ibv_rc_pingpong", "-c", "-j", "-g", "0"])


def show(build):
    with Instance(build, "show") as instance:
        if instance.command("start").returncode != 0:
            raise Failure("rxe_dm start failed")
        table = instance.command("show").stdout
        for word in ("rxe_dm0", re.escape(instance.address), "device memory"):
            if not re.search(word, table):
                raise Failure(f"rxe_dm show has no {word}:\n{table}")
        if not isinstance(instance.show(), dict):
            raise Failure("rxe_dm show --json is no object")


def show_features(build):
    """The table of functions needs no server, and has the same rows either way. verbs_features calls them all."""
    with Instance(build, "show_features") as instance:
        listed = json.loads(instance.command("show", "--features", "--json").stdout)
        table = instance.command("show", "--features").stdout
        if instance.command("show").stdout.find("not running") < 0:
            raise Failure("rxe_dm show --features has started a server")
    if len(listed) < 300 or {row["state"] for row in listed} != {"works", "partly", "refused"}:
        raise Failure(f"rxe_dm show --features --json: {listed}")
    for row in listed:
        if not re.search(rf"^  {row['function']} +{row['state']}( +{re.escape(row['note'])})?$", table, re.MULTILINE):
            raise Failure(f"rxe_dm show --features does not say of {row}")


def show_implicit_region(build):
    """A region over the whole address space is shown as such."""
    with Instance(build, "show_implicit") as instance:
        instance.serve(["ibv_rc_pingpong", "-g", "0", "-O"], free_port())
        table = instance.command("show").stdout
        if not re.search(r"memory +0 +all +0 local_write on_demand\n", table):
            raise Failure(f"rxe_dm show has no such region:\n{table}")
        lengths = [int(region["length"]) for region in instance.show()["devices"][0]["mrs"]]
        if lengths != [1 << 64]:  # the next number to 2^64 - 1 that JSON programs can read
            raise Failure(f"rxe_dm show --json says {lengths}")


def stop_without_server(build):
    with Instance(build, "stop_twice") as instance:
        instance.command("start")
        if instance.command("stop").returncode != 0:
            raise Failure("rxe_dm stop failed")
        again = instance.command("stop")
        if again.returncode < 0 or not (again.stdout + again.stderr).strip():
            raise Failure("a stop with nothing to stop says so")


CASES = {
    "bad_commands": bad_commands,
    "bad_settings": bad_settings,
    "run_checks_settings": run_checks_settings,
    "no_proc": no_proc,
    "own_libibverbs": own_libibverbs,
    "busy_port": busy_port,
    "squatted_lock": squatted_lock,
    "small_files": small_files,
    "few_descriptors": few_descriptors,
    "few_descriptors_for_a_server": few_descriptors_for_a_server,
    "no_descriptor_left": no_descriptor_left,
    "busy_everywhere": busy_everywhere,
    "squatted_name": squatted_name,
    "refused_call": refused_call,
    "run_contradicts": run_contradicts,
    "second_instance": second_instance,
    "elsewhere": elsewhere,
    "only_address": only_address,
    "no_random_numbers": no_random_numbers,
    "ordinary_user": ordinary_user,
    "low_memlock": low_memlock,
    "two_instances": two_instances,
    "across_instances": across_instances,
    "show": show,
    "show_features": show_features,
    "show_implicit_region": show_implicit_region,
    "stop_without_server": stop_without_server,
}
