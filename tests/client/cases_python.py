# SPDX-License-Identifier: MIT
"""pyverbs, and rdma-core's own Python tests as Debian ships them."""

import collections
import contextlib
import functools
import gzip
import os
import re
import shutil
import tempfile

from huge_pages import huge_pages
from instance import Instance
from namespaces import Pair
from program import Failure, Skip

PYTHON = "/usr/bin/python3"
TESTS = "/usr/share/doc/rdma-core/tests"

# Test modules that use what a RoCE device without a provider of its own may offer.
MODULES = ["test_device", "test_pd", "test_mr", "test_qp", "test_cq", "test_cq_events", "test_cqex",
           "test_addr", "test_atomic", "test_qpex", "test_parent_domain", "test_fork", "test_odp",
           "test_relaxed_ordering", "test_shared_pd", "test_flow", "test_rss_traffic", "test_tag_matching"]


# Why a test of the whole set may skip itself. What another reason skips is a failure: something is missing that was there.
OTHER_HARDWARE = r"non (MLX5|EFA) device|not an MLX5|cuda-python|PCI device|/dev/dri/|timestamp to nanoseconds"
NOT_HERE = r"Extended CQ is not|Extended QP is not"  # docs/DEVIATIONS.md
NEEDS_ROOT = r"no huge pages|[Mm]ust be (run|done) by root"
# Of tests of librdmacm, which ask for an interface that has the device's address: with root there is one.
NEEDS_INTERFACE = r"doesn't have net interface"
# The modules of what this device exists for: none of their tests skips itself, but for huge pages.
NEVER = {"test_addr": "", "test_cq": "", "test_cq_events": "", "test_device": "", "test_pd": "",
         "test_shared_pd": "", "test_parent_domain": NEEDS_ROOT, "test_atomic": "", "test_tag_matching": "", "test_odp": NEEDS_ROOT,
         "test_flow": NEEDS_ROOT, "test_rss_traffic": NEEDS_ROOT}


def need_pyverbs():
    if not os.path.exists(PYTHON) or not any(
            os.path.isdir(os.path.join(folder, "pyverbs"))
            for folder in ("/usr/lib/python3/dist-packages", "/usr/local/lib/python3/dist-packages")):
        raise Skip("python3-pyverbs is not installed")


def imports(build):
    need_pyverbs()
    with Instance(build, "pyverbs") as instance:
        text = instance.run([PYTHON, "-c", "import pyverbs.device as d\n"
                             "print([x.name.decode() for x in d.get_device_list()])\n"
                             "print(d.Context(name='rxe_dm0').query_port(1).state)"])
        if "['rxe_dm0']" not in text:
            raise Failure("pyverbs does not list rxe_dm0")


def unpack(folder):
    """Debian compresses the larger modules."""
    target = os.path.join(folder, "tests")
    os.mkdir(target)
    for name in os.listdir(TESTS):
        source = os.path.join(TESTS, name)
        if name.endswith(".gz"):
            with gzip.open(source) as packed, open(os.path.join(target, name[:-3]), "wb") as plain:
                shutil.copyfileobj(packed, plain)
        elif os.path.isfile(source):
            shutil.copy(source, target)
    return target


@contextlib.contextmanager
def interface():
    """What an instance needs whose address an interface has, in a network namespace; without root nothing."""
    if os.geteuid() != 0:
        yield {}
        return
    with Pair() as pair:
        yield {"address": pair.address(0), "peer_name": pair.address(0), "prefix": pair.prefix(0)}


# What takes up to 28 huge pages at a time; None: all modules.
MANY_PAGES = ("test_odp", "test_parent_domain", None)


def run_tests(build, name, module=None, place=None):
    need_pyverbs()
    if not os.path.isdir(TESTS):
        raise Skip("rdma-core is not installed")
    with tempfile.TemporaryDirectory() as folder, Instance(build, name, **(place or {})) as instance, \
            huge_pages(many=module in MANY_PAGES):
        target = unpack(folder)
        if module and not os.path.exists(os.path.join(target, module + ".py")):
            raise Skip(f"this rdma-core has no {module}")
        return instance.run(
            [PYTHON, "-B", os.path.join(target, "run_tests.py"), "-v", "--dev", "rxe_dm0",
             "--port", "1", "--gid", "0", *([f"tests.{module}"] if module else [])], timeout_s=200,
            expect=0 if "RXE_TEST_CHECK" in os.environ else None)  # the status is that of the findings


def rdma_core(build, module):
    judge(run_tests(build, module, module), module)


def count(text):
    """By module: how many were ok, and why the others skipped themselves. A test's result may stand on a later line."""
    ok, skipped, module = collections.Counter(), collections.defaultdict(collections.Counter), "?"
    for line in text.split("\n"):
        begun = re.match(r"\w+ \(tests\.(\w+)", line)
        module = begun.group(1) if begun else module
        result = re.search(r"(?:\.\.\. |^)(?:ok|skipped (.*))$", line)
        if result and result.group(1):
            skipped[module][result.group(1)[1:-1]] += 1
        elif result:
            ok[module] += 1
    return ok, skipped


def whole(build):
    """All of rdma-core's tests in one go, also those for other hardware: what ran, and why what did not."""
    with interface() as place:
        text = run_tests(build, "rdma_core", place=place)
    ok, skipped = count(text)
    for module in sorted(set(ok) | set(skipped)):
        print(f"{module}: {ok[module]} ok" + "".join(f"; {n} skipped: {why}" for why, n in skipped[module].items()))
    judge(text, "all")
    expected = "|".join((OTHER_HARDWARE, NOT_HERE, NEEDS_ROOT, *([] if os.geteuid() == 0 else [NEEDS_INTERFACE])))
    for module, whys in skipped.items():
        for why in whys:
            if not re.search(NEVER.get(module, expected) or "^$", why):
                raise Failure(f"{module}: a test skipped itself: {why}")


def judge(text, module):
    """unittest's closing lines: 'Ran N tests in ..' and 'OK (skipped=M)' or 'FAILED (..)'. The report of a finding may
    stand between a result and the end of its line."""
    ran = re.search(r"^Ran (\d+) tests? in", text, re.MULTILINE)
    result = re.search(r"^(OK|FAILED)( \([^()]*\))?", text, re.MULTILINE)
    if not ran or not result:
        raise Failure(f"{module}: it did not come to its end:\n{text}")
    print(f"{module}: ran {ran.group(1)}, {result.group(0)}")
    if result.group(1) != "OK":
        raise Failure(f"{module}: {result.group(0)}\n{text[text.find('=' * 70):]}")
    skipped = re.search(r"skipped=(\d+)", result.group(0))
    if skipped and skipped.group(1) == ran.group(1):
        raise Skip(f"{module}: all {ran.group(1)} tests skipped themselves")


CASES = {"pyverbs": imports, "rdma_core_all": whole}
CASES.update({"rdma_core_" + module: functools.partial(rdma_core, module=module)
              for module in MODULES})
