#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A TCP server that forks for each connection, and its clients, for librspreload.so. usage: preload_fork.py serve|ask ADDRESS PORT"""

import hashlib
import os
import socket
import socketserver
import sys
import threading

CLIENTS = 3


class Digest(socketserver.BaseRequestHandler):
    """Answers with the hash of what it got."""

    def handle(self):
        digest = hashlib.sha256()
        while piece := self.request.recv(100_000):
            digest.update(piece)
        self.request.sendall(digest.digest())


class Server(socketserver.ForkingTCPServer):
    allow_reuse_address = True


def serve(address):
    with Server(address, Digest) as server:
        print("listening", flush=True)
        server.serve_forever()


def ask(address, wrong):
    data = os.urandom(500_000)
    with socket.create_connection(address) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        if sock.recv(32, socket.MSG_WAITALL) != hashlib.sha256(data).digest():
            wrong.append(address)


def main():
    address = (sys.argv[2], int(sys.argv[3]))
    if sys.argv[1] == "serve":
        serve(address)
    wrong = []
    threads = [threading.Thread(target=ask, args=(address, wrong)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(1 if wrong else 0)


main()
