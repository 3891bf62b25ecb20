# SPDX-License-Identifier: MIT
"""The connection manager in the device server: what it tells people."""

import re

from cases_rdmacm import need_library
from instance import Instance, free_port
from program import Failure


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
        server.wait_until(lambda: instance.show()["rdma_ids"], "listener")
        said(instance, rf"^  tcp +{address}:{port} listening, process {server.pid}, 0 of \d+ requests not read")
        client = instance.start(common + ["-c"])
        client.wait_until(lambda: len(connections(instance)) == 2, "connection")
        said(instance, rf"^  tcp +{address}:\d+ -> {address}:{port} established, process {client.pid}, QP \w+, peer QP \w+")


def connections(instance):
    return [row for row in instance.show()["rdma_ids"] if row["state"] == "established"]


CASES = {
    "cm_show": shown,
}
