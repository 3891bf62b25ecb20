# SPDX-License-Identifier: MIT
"""Seeds of fuzz_control: programs that connect by the connection manager (control_cm.c)."""

HERE, ANYWHERE, NOWHERE, PORT_1 = 0, 0x40, 0x10, 1
TCP, UDP = 0, 1
ASKS, ANSWERS = [9, 1, 1, 3], [8, 1, 1, 3]  # the numbers of both ends: QP, READs and atomics, private data


def manager_scripts(STEP, CM):
    """Channel 0 and the listener, id 0, are of client 0; channel 1 and id 1 of client 1; id 2 is that of the request."""
    def cm(op, identity=0, *rest, client=0, channel=0, token=1):
        return bytes([STEP.CM, client, channel, op, identity, token, *rest])

    turn, event_a, event_b = bytes([STEP.SETTLE, 1]), bytes([STEP.CM_EVENT, 0]), bytes([STEP.CM_EVENT, 1])
    for name, space in (("tcp", TCP), ("udp", UDP)):
        begin = b"".join(bytes([STEP.CONNECT, n, 0]) + cm(CM.CREATE_CHANNEL, client=n) for n in range(2)) + \
            cm(CM.CREATE_ID, 0, space, 2) + cm(CM.BIND, 0, HERE, NOWHERE) + cm(CM.LISTEN, 0, 2) + \
            cm(CM.CREATE_ID, 0, space, 2, client=1, channel=1)
        active = cm(CM.RESOLVE_ADDR, 1, NOWHERE, HERE, client=1) + cm(CM.RESOLVE_ROUTE, 1, client=1) + event_b * 2
        connect = active + cm(CM.CONNECT, 1, *ASKS, client=1) + turn * 3 + event_a
        done = cm(CM.ACCEPT, 2, *ANSWERS) + turn * 3 + event_b + cm(CM.ESTABLISH, 1, client=1) + turn * 3 + event_a
        looks = b"".join(cm(CM.INIT_QP_ATTR, 2, state) for state in range(7)) + cm(CM.QUERY, 2) + cm(CM.LIST) + cm(CM.FAILURES)
        ends = cm(CM.DISCONNECT, 1, client=1) + turn * 3 + event_a + cm(CM.DISCONNECT, 2) + turn * 3 + bytes([STEP.SETTLE, 255]) * 3
        yield f"cm_{name}", begin + connect + done + looks + ends + cm(CM.DESTROY_ID, 2) + cm(CM.DESTROY_ID, 1, client=1) + \
            cm(CM.DESTROY_ID, 0) + cm(CM.DESTROY_CHANNEL)
        yield f"cm_{name}_killed", begin + connect + done + bytes([STEP.CLOSE, 1]) + turn * 3 + event_a
        yield f"cm_{name}_listener_killed", begin + connect + bytes([STEP.CLOSE, 0]) + turn * 3 + event_b
        yield f"cm_{name}_rejected", begin + connect + cm(CM.REJECT, 2, *ANSWERS) + turn * 3 + event_b + cm(CM.FAILURES)
        yield f"cm_{name}_no_listener", begin + cm(CM.DESTROY_ID, 0) + connect + bytes([STEP.SETTLE, 255]) * 3 + event_b
        yield f"cm_{name}_paused", begin + cm(CM.PAUSE_CHANNEL) + connect + cm(CM.DESTROY_ID, 0) + cm(CM.RESUME_CHANNEL) + turn
        yield f"cm_{name}_moved", begin + cm(CM.CREATE_CHANNEL) + connect + cm(CM.MIGRATE, 0, channel=2) + cm(CM.MIGRATE, 2, channel=2) + \
            cm(CM.DESTROY_CHANNEL) + done
        yield f"cm_{name}_spoiled", begin + connect + b"".join(
            bytes([STEP.CM, 0, 0x80, op, 2, 1, *ASKS, 20 + op, 0, 255]) for op in range(1, CM.OP_END))
    yield "cm_groups", bytes([STEP.CONNECT, 0, 0]) + cm(CM.CREATE_CHANNEL) + cm(CM.CREATE_ID, 0, UDP, 4) + cm(CM.BIND, 0, HERE, NOWHERE) + \
        cm(CM.JOIN, 0, NOWHERE, HERE) + cm(CM.LEAVE, 0, 1) + cm(CM.SET_OPTION, 0, 0, 1, 4, 1) + cm(CM.REFUSED, 0, 1, 255, 255, 255, 255) + \
        cm(CM.REFUSED, 0, 1, 0, 0, 0, 128) + cm(CM.LISTEN, 0, 1) + cm(CM.FAILURES)
    yield "cm_shared_port", bytes([STEP.CONNECT, 0, 0]) + cm(CM.CREATE_CHANNEL) + b"".join(
        cm(CM.CREATE_ID, 0, TCP, 2) + cm(CM.SET_OPTION, n, 0, 1, 4, 1) + cm(CM.BIND, n, ANYWHERE | PORT_1, NOWHERE) for n in range(3)) + \
        b"".join(cm(CM.LISTEN, n, 1) for n in range(3)) + cm(CM.DESTROY_ID, 1) + cm(CM.LISTEN, 2, 1)
