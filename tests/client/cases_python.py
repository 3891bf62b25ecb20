# SPDX-License-Identifier: MIT
"""pyverbs, and rdma-core's own Python tests as Debian ships them."""

import functools
import gzip
import os
import re
import shutil
import tempfile

from instance import Instance
from program import Failure, Skip

PYTHON = "/usr/bin/python3"
TESTS = "/usr/share/doc/rdma-core/tests"

# Test modules that use what a RoCE device without a provider of its own may offer.
MODULES = ["test_device", "test_pd", "test_mr", "test_qp", "test_cq", "test_cq_events", "test_cqex",
           "test_addr", "test_atomic", "test_qpex", "test_parent_domain", "test_fork", "test_odp",
           "test_relaxed_ordering", "test_shared_pd", "test_flow", "test_tag_matching"]


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


def rdma_core(build, module):
    need_pyverbs()
    if not os.path.isdir(TESTS):
        raise Skip("rdma-core is not installed")
    with tempfile.TemporaryDirectory() as folder, Instance(build, module) as instance:
        target = unpack(folder)
        if not os.path.exists(os.path.join(target, module + ".py")):
            raise Skip(f"this rdma-core has no {module}")
        text = instance.run(
            [PYTHON, "-B", os.path.join(target, "run_tests.py"), "-v", "--dev", "rxe_dm0",
             "--port", "1", "--gid", "0", f"tests.{module}"], timeout_s=200, expect=None)
        judge(text, module)


def judge(text, module):
    """unittest's closing lines: 'Ran N tests in ..' and 'OK (skipped=M)' or 'FAILED (..)'."""
    ran = re.search(r"^Ran (\d+) tests? in", text, re.MULTILINE)
    verdict = re.search(r"^(OK|FAILED)( \(.*\))?$", text, re.MULTILINE)
    if not ran or not verdict:
        raise Failure(f"{module}: it did not come to its end")
    print(f"{module}: ran {ran.group(1)}, {verdict.group(0)}")
    if verdict.group(1) != "OK":
        raise Failure(f"{module}: {verdict.group(0)}")
    skipped = re.search(r"skipped=(\d+)", verdict.group(0))
    for line in re.findall(r"^test_\w+ .*skipped.*$", text, re.MULTILINE):
        print("  " + line)
    if skipped and skipped.group(1) == ran.group(1):
        raise Skip(f"{module}: all {ran.group(1)} tests skipped themselves")


CASES = {"pyverbs": imports}
CASES.update({"rdma_core_" + module: functools.partial(rdma_core, module=module)
              for module in MODULES})
