# SPDX-License-Identifier: MIT
"""The connection manager in the device server: what it tells people, and fault rules for connections."""

import re

from cases_faults import add, fired
from cases_rdmacm import join, need_library
from instance import Instance, free_port
from program import Failure, until


def said(instance, pattern):
    text = instance.command("show").stdout
    if not re.search(pattern, text, re.MULTILINE):
        raise Failure(f"rxe_dm show does not say '{pattern}':\n{text}")


def shown(build):
    """A failed attempt to connect explains itself, also when its program has exited; listeners and connections are listed."""
    with Instance(build, "cm_show") as instance:
        need_library(instance)
        address, port = instance.address, free_port()
        common = ["rping", "-a", address, "-p", str(port)]
        instance.run(common + ["-c", "-C", "1"], expect=None)
        said(instance, rf"^  \d+ s ago, process \d+, tcp {address}:\d+ -> {address}:{port}: "
                       rf"no listener on port {port} at {address}: start the server first$")
        failure = instance.show()["rdma_failures"][0]
        if failure["event"] != "REJECTED" or failure["status"] != 8 or failure["remote"] != f"{address}:{port}":
            raise Failure(f"rxe_dm show --json: {failure}")
        server = instance.start(common + ["-s", "-P"])
        server.wait_until(lambda: listeners(instance), "listener")
        said(instance, rf"^  tcp +{address}:{port} listening, process {server.pid}, 0 of \d+ requests not read")
        client = instance.start(common + ["-c"])
        client.wait_until(lambda: len(connections(instance)) == 2, "connection")
        said(instance, rf"^  tcp +{address}:\d+ -> {address}:{port} established, process {client.pid}, QP \w+, peer QP \w+")


def listeners(instance):
    return [row for row in instance.show().get("rdma_ids", []) if row["state"] == "listening"]


def connections(instance):
    return [row for row in instance.show()["rdma_ids"] if row["state"] == "established"]


def rules(build):
    """Messages wait, come twice and get lost, requests are refused, calls fail: each program says what it must."""
    with Instance(build, "cm_rules") as instance:
        need_library(instance)
        common = ["rping", "-a", instance.address, "-p", str(free_port())]
        client = common + ["-c", "-C", "5", "-V"]
        server = instance.start(common + ["-s", "-P"])
        server.wait_until(lambda: listeners(instance), "listener")
        add(instance, "cm_reject reason=26 nth=1")
        if "RDMA_CM_EVENT_REJECTED, error 26" not in instance.run(client, expect=None):
            raise Failure("a request was not rejected by the rule")
        said(instance, r"refused: invalid MTU \(reject reason 26\)$")
        add(instance, "verb name=rdma_resolve_addr errno=ENOBUFS nth=1")
        if "rdma_resolve_addr: No buffer space available" not in instance.run(client, expect=None):
            raise Failure("rdma_resolve_addr did not fail by the rule")
        instance.command("fault", "clear")
        add(instance, "cm_delay message=REP dir=out time=300ms", "cm_duplicate message=REQ,DREQ",
            "cm_drop message=DREP nth=1")
        join(instance, server, client)
        until(lambda: not connections(instance), "end of the connection")
        if not all(fired(instance)):
            raise Failure(f"fired: {fired(instance)}")


CASES = {
    "cm_show": shown,
    "cm_rules": rules,
}
