#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/CHECKS.md, made of the table of checks (lib/findings/table.c) and the mistakes in this folder.

usage: page.py RXE_DM PAGE [--write]    compares the page, or writes it
"""
import json
import os
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from cases_check import MISTAKES  # noqa: E402

HEAD = """# Checks

`rxe_dm run --check PROGRAM` reports what a program does wrong with verbs although it works on this device. A finding is printed
when it happens, with the stacks of the calls that lead to it, and counted when it happens again:

    rxe_dm run --check ./your_program
    rxe_dm run --check=mem,-RXE-MEM-002 ./your_program       # groups and ids; a minus leaves one out
    rxe_dm run --check --check-output findings.sarif ./your_program
    rxe_dm show --findings                                   # later, also of a program that was killed
    rxe_dm show --checks                                     # this list

With findings the exit status is 66, or that of `--check-exit`; else it is the program's. A note is no such finding: what it says is not
wrong by the letter of the specification. Meanwhile the device does what the standard permits and adapters seldom do ([WORST](WORST.md)),
so that a mistake has consequences; `--worst=7` tries another seed, `--worst=none` keeps the device kind. `--check-suppressions FILE`
names what is not reported, a line each: `id:RXE-MEM-002`, `func:NAME` (a function in any of its stacks) or `obj:libucp` (an object file).
`man rxe_dm` describes the options. Functions and lines need a build with elfutils' libdw, and a program built with `-g`.

Each wrong program below is a file of `tests/client/mistakes`, where `right` selects its correction.

| id | name | what is wrong |
|---|---|---|
"""

ORDER = """
## What orders two requests

RXE-RACE-001 to 003, RXE-MEM-005 and RXE-MEM-008 compare a request with those that are outstanding, of the program and of other programs
under `--check` on the same device, which have one server. Both places are shown; QP and process of the other request stand in the text.
The request that is posted now comes after an outstanding one in these cases:

| what orders them | where it is written | notes |
|---|---|---|
| The other program has polled the completion of the request, or of a later one of its queue. | IBTA 10.8.2.2, ibv_poll_cq(3) | The request is then no longer outstanding. |
| Both are of one queue pair, but not an RDMA READ with an RDMA WRITE after it. | IBTA 10.8.3.3, ibv_post_send(3) | The WRITE needs IBV_SEND_FENCE. An atomic follows an RDMA READ in order. |
| The peer has polled a message that was sent later on the queue pair, or is the request: SEND, or RDMA WRITE with immediate data. | IBTA 9.7.6, 9.7.7 | It proves nothing of the bytes that an RDMA READ or an atomic brings back. |
| Both are atomics. | IBTA 9.4.5 | They are atomic with each other. |

A program that polls memory for a flag is not seen at each poll. So three usual ways count as an order between processes, which the standard does
not promise: an RDMA WRITE or atomic after the request, on its queue pair (data, then the flag); an RDMA WRITE of up to 8 bytes, for the
program that has the bytes; and the arrival of an RDMA WRITE at the peer, so that the memory that it sends is not compared with writes of
other processes. The message decides which bytes a receive gets: they are compared when its completion is polled, with requests of other
processes that were outstanding when the receive was posted, and still are. A request whose peer is not checked, or on another device, is
left out. A request through a memory window counts as one to the region below, as the window is bound when the request is posted. Requests
to device memory are compared by RXE-RACE-001 to 003, with those that use it as their own buffer, receives left out; the checks of memory
(RXE-MEM) and RXE-RACE-004 leave device memory out, and what ibv_memcpy_to_dm() and ibv_memcpy_from_dm() do is not compared.

A request that has ended is compared by RXE-RACE-004 alone, among the last 512 accesses of a process. It is found with
`--check=all,requests-unordered` only. Its order is that of vector clocks: a process that polls a completion has a new time, which another
one learns by a message of it, by an RDMA WRITE or atomic to its own memory, by an RDMA READ or atomic there, and when it connects a queue
pair, with all that the first one had learned.

It is not among all checks, because it does not see what else orders two processes, and would accuse programs that are right. A call that
brings something from another process (read(2), recv(2), poll(2), a futex or semaphore, a signal) could count as an order after all that the
others have done until then. Shared memory cannot: the processes of a device are on one machine, where Open MPI, MPICH, UCX and any
program with a barrier or a ring in a common mapping wait for one another by loads, which no call shows. And a rule for calls would leave
little to find, as programs without shared memory exchange a message on a socket before each phase.
"""

TAIL = """
## What is not seen

- **Polling for a word.** RXE-PORT-005 is about messages of more than 8 bytes. It needs the unkind device, which lets time pass before
  it stores one of the first 64 packets, and a debug register of the processor, by perf_event_open(2): not where
  `/proc/sys/kernel/perf_event_paranoid` is above 2 and the program has no `CAP_PERFMON`, nor where a container forbids the call. It does
  not see reads by system calls, and counts no thread with fewer than 8 accesses: a register cannot tell a read from a write. A look
  takes 0.2 ms, on a busy machine 5 ms. Without it the program reads wrong bytes, because the unkind device stores the last byte of a packet
  first and the rest later ([WORST](WORST.md), `byte_order`).
- **A completion queue that is larger than asked for.** This device grants exactly the entries that `ibv_create_cq(3)` asks for,
  and RXE-QUEUE-001 counts by these. Adapters round up, so what fits here fits there.
- **Requests longer than `max_msg_sz`**, 1 GiB here: they are refused, with RXE-REFUSAL-001. The limit of an adapter may be lower:
  `ibv_query_port(3)` reports it.
- **An order of two threads by atomics alone.** RXE-THREAD-001 and 002 see the locks and joins of pthreads(7).

## Defects of programs

The client suite runs programs of Debian 12 under `--check`: the pingpongs, perftest, rdmacm-utils, rsockets, fio, qperf, libfabric, UCX,
Open MPI, MPICH and the Python tests of rdma-core (cases `check_clean_*` and `check_passes_*`). What it finds is left out of their
checks; these are their defects:

| program | finding | source | what it does |
|---|---|---|---|
| rc, uc, ud, srq_pingpong | RXE-MEM-001, 002, 003, 007 | rdma-core 44, libibverbs/examples/rc_pingpong.c:646, 679 | posts one buffer for all receives and sends: the answer changes a send that is not complete, and -c fills it after the receives are posted |
| ibv_srq_pingpong | RXE-LIFE-005 | rdma-core 44, libibverbs/examples/srq_pingpong.c:914, 525 | counts the sends of all queue pairs together, and destroys those whose last send is not complete |
| riostream | RXE-MEM-008 | rdma-core 44, librdmacm/examples/riostream.c, recv_xfer() | waits for the last byte of a riowrite(), and unmaps the buffer |
| rping | RXE-MEM-001 | rdma-core 44, librdmacm/examples/rping.c, rping_format_send() | writes the next message into the buffer of a send whose completion it has not polled |
| rping -s | RXE-CM-008 (note) | rdma-core 44, librdmacm/examples/rping.c:1028 | destroys the id before its queue pair (line 1032) |
| ucmatose | RXE-MEM-002, 003 | rdma-core 44, librdmacm/examples/cmatose.c:176, 206 | posts one buffer for all receives and sends |
| udaddy, mckey | RXE-QUEUE-002, RXE-LIFE-005 | rdma-core 44, librdmacm/examples/udaddy.c:597, mckey.c:566 | fills the send queue, which has message_count entries, with unsignalled requests, and destroys it |
| cmtime | RXE-EVENT-003 | rdma-core 44, librdmacm/examples/cmtime.c:572, librdmacm/cma.c:1657 | creates all queue pairs by one ibv_qp_init_attr, into which the first call writes the CQs of its id |
| fio | RXE-EVENT-002 | fio 3.33, engines/rdma.c:410 | acknowledges as many events as there were completions |
| fio | RXE-EVENT-003 | fio 3.33, engines/rdma.c:1010 | destroys the CQ before its queue pair, which fails |
| ib_write_lat | RXE-PORT-005 (note) | perftest 4.5-0.17, src/perftest_resources.c, run_iter_lat_write() | waits for the last byte of the peer's RDMA WRITE |
| ib_send_bw and others | RXE-MEM-002, 003 | perftest 4.5-0.17, src/perftest_resources.c:3056, 3191 | moves through a ring of its buffer that is shorter than its requests |
| ib_send_bw | RXE-LIFE-001 | perftest 4.5-0.17, src/perftest_resources.c:1415 | creates the receive CQ for every SEND test (1633), and destroys it for some |
| ib_send_lat -e | RXE-EVENT-001 | perftest 4.5-0.17, src/perftest_resources.c:4786 | both CQs have one channel: it arms the CQ whose event came, and polls the other |
| ib_atomic_lat | RXE-LIFE-002 | perftest 4.5-0.17, src/atomic_lat.c:257 | the server returns without destroying anything |
| ib_*_lat -c XRC | RXE-PEER-003 | perftest 4.5-0.17, src/perftest_resources.c:2631, 2678 | gives the receiving end 0, and the sending end 1 |
| ib_* -R | RXE-MEM-001, 003 | perftest 4.5-0.17, src/perftest_communication.c:171, 473 | receives and sends its parameters in the same bytes |
| ib_* -R | RXE-LIFE-002 | perftest 4.5-0.17, src/send_bw.c:203, src/perftest_communication.c:1014 | opens a device, and overwrites the pointer by the context of the id |
| rdma-core's Python tests | RXE-MEM-002, 003, 007 | rdma-core 44, utils.py:403, 417 | one region for all receives and sends, which the test also fills |
| rdma-core's Python tests | RXE-MEM-004, 006 | rdma-core 44, utils.py:690 | traffic() posts one receive more than messages arrive; its region ends before the queue pair |
| rdma-core's Python tests | RXE-LIFE-005 | rdma-core 44, test_cq.py:101 | fills a completion queue to resize it, and destroys the queue pair |
| rdma-core's Python tests | RXE-MEM-001 | rdma-core 44, test_tag_matching.py, get_send_elements() | one buffer for the header of a rendezvous and for the message that ends it |
| libfabric over ofi_rxm | RXE-CM-003, 007, RXE-LIFE-002, 005 | seen in Debian's libfabric 1.17 under Open MPI, not in its source | leaves ids, their channel and queue pairs |
| libfabric over ofi_rxd | RXE-LIFE-005 | the same | destroys a queue pair before its last datagrams are sent, in 1 of 10 runs |
| UCX | RXE-LIFE-005 | UCX 1.13.1, src/uct/ib/ud/base/ud_iface.c:645 | destroys a queue pair before its last acknowledgements are sent |
| UCX | RXE-MEM-004 | UCX 1.13.1, src/uct/ib/ud/base/ud_iface.c:644 | frees the memory of posted receives before the queue pair; line 642 says so |
| UCX | RXE-MEM-001 | UCX 1.13.1, src/uct/ib/ud/base/ud_ep.c:181, 1363 | uses a datagram's memory again when the peer has acknowledged it, without the completion of its send |
"""


def program(name):
    """The source of a mistake without its includes."""
    with open(os.path.join(HERE, name + ".c"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    start = max(i for i, line in enumerate(lines) if line.startswith("#include")) + 1
    return textwrap.indent("\n".join(lines[start:]).strip("\n").expandtabs(8), "    ")


def wrapped(text):
    return "\n".join(textwrap.wrap(text, width=130, break_long_words=False, break_on_hyphens=False))


def page(rows):
    by_id = {}
    for name, expected in MISTAKES.items():
        by_id.setdefault(expected[0], []).append(name)
    text = HEAD + "".join(f"| [{r['id']}](#{r['id'].lower()}) | {r['name']}{' (note)' if r['level'] == 'note' else ''} | {r['sentence']} |\n" for r in rows)
    for row in rows:
        text += f"\n## {row['id']}\n\n" + wrapped(f"`{row['name']}`{', a note' if row['level'] == 'note' else ''}: {row['sentence']}") + "\n\n"
        text += wrapped(f"Specification: {row['specification']}.") + "\n\n" + wrapped(f"Remedy: {row['remedy']}") + "\n"
        for name in by_id.get(row["id"], []):
            text += f"\n`tests/client/mistakes/{name}.c`:\n\n{program(name)}\n"
    return text + ORDER + TAIL


def main():
    command, path = sys.argv[1:3]
    listed = subprocess.run([command, "show", "--checks", "--json"], check=True, capture_output=True, text=True).stdout
    text = page(json.loads(listed))
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(path, encoding="utf-8") as f:
        if f.read() == text:
            return 0
    print(f"{path} is not what {__file__} makes of the table and the mistakes: run it with --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
