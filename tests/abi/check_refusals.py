# SPDX-License-Identifier: MIT
"""Every function of libmlx5.so.1 under every version node, called with null arguments and with blank memory: none crashes, and
none claims to have done anything. What each returns when it refuses is its prototype's to say: NULL and errno, an errno, -1 and
errno, false. Those that do something have their tests in tests/client/verbs_umem.c; here they must refuse what is no object.

usage: check_refusals.py LIBMLX5 SYMBOLS.tsv [MLX5DV_H]      LD_LIBRARY_PATH names the folder of our libibverbs.so.1"""

import ctypes
import os
import re
import signal
import sys

# Return a count of bytes or a descriptor, and -1 and errno when they fail: mlx5dv_devx_create_event_channel(3),
# mlx5dv_vfio_get_events_fd(3), mlx5dv_devx_uar_export_dmabuf_fd(3).
FAILS = {"mlx5dv_devx_get_event", "mlx5dv_vfio_get_events_fd", "mlx5dv_devx_uar_export_dmabuf_fd"}
# Not in the installed header, which may be older: as rdma-core 65 declares them.
NEWER = {
    "mlx5dv_devx_umem_export": "int", "mlx5dv_devx_umem_import": "pointer", "mlx5dv_devx_umem_unimport": "void",
    "_mlx5dv_get_export_sizes": "void", "mlx5dv_devx_uar_export_dmabuf_fd": "int",
}
KIND_OF_STUB = {"errno": "int", "fail": "int", "null": "pointer", "void": "void"}
# Lengths are no pointers.
ARGUMENTS = {
    "_mlx5dv_get_export_sizes": lambda blank: (blank, 8),
    "mlx5dv_devx_obj_create": lambda blank: (blank, blank, 64, blank, 16),
}
PROTOTYPE = re.compile(r"^(?!static|#|typedef|\s)([\w\s]+?[\s*]+)(_?mlx5dv_\w+)\s*\(", re.MULTILINE)
RETURNS = {"int": ctypes.c_int, "bool": ctypes.c_bool, "pointer": ctypes.c_void_p, "void": None}


def symbols(path):
    with open(path, encoding="ascii") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def prototypes(path):
    """What each function of the header returns, as one of our kinds."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.DOTALL)
    for result, name in PROTOTYPE.findall(text):
        words = result.split()
        yield name, "pointer" if "*" in result else "int" if words[0] in ("int", "ssize_t") else words[0]


def finder(path):
    library = ctypes.CDLL(path)
    dlvsym = ctypes.CDLL(None).dlvsym
    dlvsym.restype = ctypes.c_void_p
    dlvsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    return lambda name, node: dlvsym(library._handle, name.encode(), node.encode())


def call(address, kind, arguments):
    """In a child: what it returned and errno, as a complaint or nothing; a crash is the child's."""
    function = ctypes.CFUNCTYPE(RETURNS[kind], *[ctypes.c_void_p] * len(arguments), use_errno=True)(address)
    ctypes.set_errno(0)
    return function(*arguments), ctypes.get_errno()


def complaint(name, kind, result, err):
    if kind == "pointer" and (result or not err):
        return f"returned {result}, errno {err}: expected NULL and errno"
    if kind == "bool" and result:
        return "said true"
    if kind == "int" and name in FAILS and (result != -1 or not err):
        return f"returned {result}, errno {err}: expected -1 and errno"
    if kind == "int" and name not in FAILS and not 0 < result < 134:
        return f"returned {result}: expected an errno"
    return None


def try_one(address, name, kind, arguments):
    child = os.fork()
    if child == 0:
        found = complaint(name, kind, *call(address, kind, arguments))
        if found:
            print(f"{name}: {found}", flush=True)
        os._exit(1 if found else 0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        print(f"{name}: died of {signal.Signals(os.WTERMSIG(status)).name}")
    return status == 0


def main():
    path, listed = sys.argv[1:3]
    header = sys.argv[3] if len(sys.argv) > 3 else "/usr/include/infiniband/mlx5dv.h"
    known = dict(NEWER, **dict(prototypes(header))) if os.path.exists(header) else dict(NEWER)
    find, tried, flaws = finder(path), 0, 0
    memory = ctypes.create_string_buffer(1 << 16)
    blank = ctypes.addressof(memory) + (1 << 12)
    for node, name, how in symbols(listed):
        kind = known.get(name, KIND_OF_STUB.get(how))
        address = find(name, node)
        if not kind or not address:
            print(f"{name}@{node}: " + ("is not exported" if kind else "nobody knows what it returns"))
            flaws += 1
            continue
        for value in (None, blank):
            arguments = ARGUMENTS.get(name, lambda value: (value,) * 10)(value)
            tried += 1
            flaws += not try_one(address, name, kind, arguments)
    print(f"{tried} calls, {flaws} of them wrong; the header declares {len(known)}")
    return 1 if flaws or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
