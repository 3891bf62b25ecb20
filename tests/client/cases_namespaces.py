# SPDX-License-Identifier: MIT
"""Two machines in small: packets that cross a veth pair, with one in a hundred lost. Needs root."""

import functools
import os

from cases_trouble import all_values, need_all_intact
from instance import Instance
from namespaces import Pair
from program import Failure


def across(build, name, program, trains, loss_percent, timeout_s=120):
    with Pair(loss_percent) as pair, \
            Instance(build, name, pair.address(0), pair.address(0), pair.prefix(0),
                     trains=trains) as here, \
            Instance(build, name, pair.address(1), pair.address(1), pair.prefix(1),
                     trains=trains) as there:
        before = pair.received(0), pair.received(1)
        texts = here.pair(program, timeout_s=timeout_s, peer=there)
        crossed = [pair.received(side) - before[side] for side in range(2)]
        print(f"trains {trains}: the interfaces received {crossed[0]} and {crossed[1]} frames")
        if min(crossed) < 100:
            raise Failure("the packets did not cross the veth pair")
        if loss_percent:
            print(f"dropped: {pair.dropped(0)} and {pair.dropped(1)}; "
                  f"retries: {sum(all_values(there.show(), 'completer_retry_err'))}")
            if pair.dropped(0) + pair.dropped(1) == 0:
                raise Failure("nothing was dropped: the test tested nothing")
        return "".join(texts)


def exactly_once(build, trains, loss_percent):
    program = [os.path.join(build, "tests", "client", "exactly_once"), "-n", "1000"]
    need_all_intact(across(build, "veth_once", program, trains, loss_percent))


def pingpong(build, loss_percent):
    across(build, "veth_pingpong", ["ibv_rc_pingpong", "-c", "-g", "0"], "on", loss_percent)


def other_namespace(build):
    """A program in another network namespace never reaches this one's server."""
    with Pair() as pair, Instance(build, "veth_other", pair.address(0), prefix=pair.prefix(0)) as here:
        here.run(["ibv_devices"])
        first = here.server_pid()
        env, prefix = here.env, here.prefix
        here.prefix = pair.prefix(1)
        here.env = dict(env, RXE_DM_ADDRESS=pair.address(1))
        try:
            here.run(["ibv_devices"])
            second = here.server_pid()
        finally:
            here.command("stop")
            here.env, here.prefix = env, prefix
        if first is None or first == second:
            raise Failure(f"both namespaces talk to server {first}")


CASES = {
    "veth_pingpong": functools.partial(pingpong, loss_percent=0),
    "veth_loss_pingpong": functools.partial(pingpong, loss_percent=1),
    "veth_exactly_once": functools.partial(exactly_once, trains="on", loss_percent=0),
    "veth_loss_trains_on": functools.partial(exactly_once, trains="on", loss_percent=1),
    "veth_loss_trains_off": functools.partial(exactly_once, trains="off", loss_percent=1),
    "veth_other_namespace": other_namespace,
}
