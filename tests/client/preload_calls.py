#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A TCP program for librspreload.so: each function uses calls on sockets as TCP programs do. usage: preload_calls.py ADDRESS"""

import array
import asyncio
import errno
import fcntl
import os
import select
import socket
import subprocess
import sys
import tempfile
import termios
import threading


def pair(address):
    listener = socket.create_server((address, 0))
    client = socket.create_connection(listener.getsockname())
    server, name = listener.accept()
    assert name == client.getsockname() and client.getpeername() == listener.getsockname()
    listener.close()
    return client, server


def receive(sock, count):
    return sock.recv(count, socket.MSG_WAITALL)


def is_an_rsocket(address):
    """The kernel knows nothing of the port."""
    client, server = pair(address)
    wanted = f":{client.getsockname()[1]:04X}"
    with open("/proc/net/tcp", encoding="ascii") as table:
        assert wanted not in table.read()
    client.close()
    server.close()


def bytes_both_ways(address):
    client, server = pair(address)
    data = os.urandom(1_000_000)
    threads = [threading.Thread(target=sock.sendall, args=(data,)) for sock in (client, server)]
    for thread in threads:
        thread.start()
    assert receive(server, len(data)) == data and receive(client, len(data)) == data
    for thread in threads:
        thread.join()
    client.shutdown(socket.SHUT_WR)
    assert server.recv(1) == b""
    server.sendmsg([b"a", b"bc"])
    assert client.makefile("rb").read(3) == b"abc"
    client.close()
    server.close()


def timeouts(address):
    client, server = pair(address)
    client.settimeout(0.01)
    try:
        client.recv(1)
        raise AssertionError("nothing was sent")
    except socket.timeout:
        pass
    client.setblocking(False)
    try:
        client.recv(1)
        raise AssertionError("nothing was sent")
    except BlockingIOError:
        pass
    assert fcntl.fcntl(client, fcntl.F_GETFL) & os.O_NONBLOCK
    client.close()
    server.close()


def refused(address):
    """No listener has the port: by connect, and by select and SO_ERROR of one that does not block."""
    free = socket.create_server((address, 0))
    name = free.getsockname()
    free.close()
    with socket.socket() as sock:
        assert sock.connect_ex(name) == errno.ECONNREFUSED
    with socket.socket() as sock:
        sock.setblocking(False)
        if sock.connect_ex(name) == errno.ECONNREFUSED:
            return  # the refusal came within the call
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        assert poll.poll()[0][1] == select.POLLOUT | select.POLLERR | select.POLLHUP
        assert select.select([], [sock], [])[1] == [sock]
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED


def waiting(address):
    """poll and select over rsockets and a pipe."""
    client, server = pair(address)
    there, here = os.pipe()
    assert select.select([server, there], [], [], 0) == ([], [], [])
    client.sendall(b"xyz")
    assert select.select([server, there], [client], [])[0] == [server]
    count = array.array("i", [0])
    fcntl.ioctl(server, termios.FIONREAD, count)
    assert count[0] == 3
    poll = select.poll()
    poll.register(there, select.POLLIN)
    poll.register(client, select.POLLIN)
    os.write(here, b"x")
    assert poll.poll() == [(there, select.POLLIN)]
    client.close()
    server.close()


def sets(address):
    """epoll over rsockets and a pipe: by levels and by edges, also while another thread adds one."""
    client, server = pair(address)
    there, here = os.pipe()
    with select.epoll() as epoll:
        epoll.register(there, select.EPOLLIN)
        epoll.register(server, select.EPOLLIN | select.EPOLLET)
        assert epoll.poll(0) == []
        client.sendall(b"x")
        assert epoll.poll() == [(server.fileno(), select.EPOLLIN)]
        os.write(here, b"x")
        assert epoll.poll() == [(there, select.EPOLLIN)]
        epoll.unregister(there)
        epoll.modify(server, select.EPOLLOUT)
        assert epoll.poll() == [(server.fileno(), select.EPOLLOUT)]
    with select.epoll() as epoll:
        waiter = threading.Thread(target=lambda: seen.extend(epoll.poll()))
        seen = []
        waiter.start()
        epoll.register(server, select.EPOLLIN)
        waiter.join()
        assert seen == [(server.fileno(), select.EPOLLIN)]
    client.close()
    server.close()


def stays_in_its_set(_address):
    """The device has no address of IPv6: such a socket becomes one of TCP, also in the set that it is in."""
    code = "import socket; s = socket.create_server(('::1', 0), family=socket.AF_INET6); print(s.getsockname()[1], flush=True); s.accept()"
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    with subprocess.Popen([sys.executable, "-c", code], env=plain, stdout=subprocess.PIPE, text=True) as server:
        client = socket.socket(socket.AF_INET6)
        with select.epoll() as epoll:
            epoll.register(client, select.EPOLLIN | select.EPOLLRDHUP)
            client.connect(("::1", int(server.stdout.readline())))
            client.sendall(b"x")
            assert epoll.poll(20)[0][0] == client.fileno()
        client.close()


def coroutines(address):
    """asyncio, which waits by epoll."""
    async def answer(reader, writer):
        data = await reader.readexactly(300_000)
        writer.write(data[::-1])
        await writer.drain()
        writer.close()

    async def ask(port, data):
        reader, writer = await asyncio.open_connection(address, port)
        writer.write(data)
        answered = await reader.read()
        writer.close()
        return answered == data[::-1] or len(answered)

    async def run():
        server = await asyncio.start_server(answer, address, 0)
        port = server.sockets[0].getsockname()[1]
        assert await asyncio.gather(*(ask(port, os.urandom(300_000)) for _ in range(5))) == [True] * 5
        server.close()

    asyncio.run(run())


def duplicates(address):
    client, server = pair(address)
    twin = os.dup(client.fileno())
    spot = os.open("/dev/null", os.O_RDONLY)
    os.dup2(twin, spot)
    client.close()
    os.close(twin)
    os.write(spot, b"still here")
    assert receive(server, 10) == b"still here"
    os.dup2(0, spot)  # the last number of it: closed
    assert server.recv(1) == b""
    os.close(spot)
    server.close()


def files(address):
    client, server = pair(address)
    with tempfile.TemporaryFile() as file:
        data = os.urandom(300_000)
        file.write(data)
        file.flush()
        assert [os.sendfile(client.fileno(), file.fileno(), offset, 0) for offset in (None, 1000)] == [0, 0]
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == len(data)
        received = []
        thread = threading.Thread(target=lambda: received.append(receive(server, len(data) - 1000)))
        thread.start()
        sent = 1000
        while sent < len(data):
            sent += os.sendfile(client.fileno(), file.fileno(), sent, len(data) - sent)
        thread.join()
        assert received == [data[1000:]]
    client.close()
    server.close()


def children(address):
    """A child has the numbers, and closes them without harm to its parent."""
    client, server = pair(address)
    epoll = select.epoll()
    epoll.register(server, select.EPOLLIN)
    pid = os.fork()
    if not pid:
        numbers = [one.fileno() for one in (client, server, epoll)]
        for one in (client, server, epoll):
            one.close()
        os._exit(sum(os.path.exists(f"/proc/self/fd/{number}") for number in numbers))
    assert os.waitpid(pid, 0)[1] == 0
    epoll.close()
    client.sendall(b"parent")
    assert receive(server, 6) == b"parent"
    client.close()
    server.close()


def exits_without_close(address):
    """What a program sent before it exits comes, and then the end."""
    listener = socket.create_server((address, 0))
    port = str(listener.getsockname()[1])
    pid = os.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, __file__, "--exit", address, port])
    server, _ = listener.accept()
    assert receive(server, 100_001) == b"x" * 100_000
    assert os.waitpid(pid, 0)[1] == 0


def main():
    if sys.argv[1] == "--exit":
        sock = socket.create_connection((sys.argv[2], int(sys.argv[3])))
        sock.sendall(b"x" * 100_000)
        sock.detach()  # Python closes no socket then
        return
    for test in (is_an_rsocket, bytes_both_ways, timeouts, refused, waiting, sets, stays_in_its_set, coroutines, duplicates, files,
                 children, exits_without_close):
        test(sys.argv[1])
        print(test.__name__, flush=True)


main()
