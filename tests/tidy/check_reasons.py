# SPDX-License-Identifier: MIT
"""Each refusal of a verb has a reason: in lib/verbs an errno comes from a row of lib/refusal/reasons.h, and each row is used.

An errno by name stands only where it is compared, in a case label, as the parameter of a row, or where ALLOWED says why."""

import re

from tree import code_only, lines_matching

TABLE = "lib/refusal/reasons.h"
ROOMS = ["lib/verbs/", "lib/rdmacm/", "lib/mlx5/"]
ROW = re.compile(r"^#define (WHY_[A-Z0-9_]+)")
ERRNO = re.compile(r"(?<![\w.])-?\b(E[A-Z]{2,}[A-Z0-9]*)\b(?!\()")
NAMES = {"EINVAL", "EBUSY", "ENOMEM", "EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EPERM", "EACCES", "ENOENT", "EIO", "EAGAIN", "EFAULT", "EBADF", "ENODATA",
         "ENETUNREACH", "EHOSTUNREACH", "EMFILE", "ENOSPC", "ERANGE", "EMSGSIZE", "EISCONN", "ENOTCONN", "EADDRNOTAVAIL", "EADDRINUSE", "EAFNOSUPPORT",
         "ETIMEDOUT", "EDESTADDRREQ"}
COMPARED = re.compile(r"(?:[=!]=\s*-?|\bcase\s+)$")
# The line, and why its errno needs no reason.
ALLOWED = {
    "lib/verbs/cq_poll.c": {"return ENOENT;": "an empty CQ is no refusal"},
    "lib/verbs/qp_attr.c": {"errno = EOPNOTSUPP;": "librdmacm asks for options of each connection"},
    "lib/rdmacm/error.h": {"if (err == EAGAIN || err == EINTR)": "no refusal", "return errno ? errno : EIO;": "the verb reports"},
    "lib/rdmacm/server.c": {"errno = ENODEV;": "the caller refuses"},
    "lib/rdmacm/channel.c": {
        "*ret_err = rcm_id_claim_removal(&channel->base, ret_claim, &is_left) ? 0 : ENODEV;": "the wait for the event has refused",
        "err = channel->is_nonblocking ? EAGAIN : EINTR;": "no refusal"},
}


def check(tree, _context):
    if TABLE not in tree.texts:
        return []
    rows = [found.group(1) for _, found in lines_matching(tree.texts[TABLE], ROW)]
    used = "\n".join(text for room in ROOMS + ["lib/refusal/"] for path, text in tree.sources(under=room) if path != TABLE)
    complaints = [f"{TABLE}: no refusal uses {row}" for row in rows if not re.search(rf"\b{row}\b", used)]
    for room in ROOMS_WITH_REASONS:
        for path, text in tree.sources(under=room):
            if path.startswith(NO_REASONS):
                continue
            complaints += unexplained(path, code_only(text))
    return complaints


# rsockets fail as sockets do.
ROOMS_WITH_REASONS = ["lib/verbs/", "lib/rdmacm/", "lib/mlx5/"]
NO_REASONS = "lib/rdmacm/rsocket"


def unexplained(path, code):
    lines = code.split("\n")
    for number, line in enumerate(lines, 1):
        for found in ERRNO.finditer(line):
            if found.group(1) not in NAMES or COMPARED.search(line[:found.start()].rstrip("-")):
                continue
            if "WHY_" in line or line.strip() in ALLOWED.get(path, {}):
                continue
            yield f"{path}:{number}: {found.group(1)} without a reason: refuse() with a row of {TABLE}"


ROWS = '#define WHY_NULL "null", EINVAL, NULL, "%s is NULL"\n'
USE = 'int f(void)\n{\n\treturn refuse(WHY_NULL, "x");\n}\n'
GOOD = [{TABLE: ROWS, "lib/verbs/a.c": USE + "int g(int rc)\n{\n\treturn rc == -ENOENT ? 1 : 0; /* EINVAL */\n}\n"}]
BAD = [
    {TABLE: ROWS, "lib/verbs/a.c": "int f(void)\n{\n\treturn 0;\n}\n"},
    {TABLE: ROWS, "lib/verbs/a.c": USE + "int g(void)\n{\n\treturn EINVAL;\n}\n"},
    {TABLE: ROWS, "lib/verbs/a.c": USE + "int g(void)\n{\n\treturn vb_result(EBUSY);\n}\n"},
    {TABLE: ROWS, "lib/verbs/a.c": USE + "int g(int x)\n{\n\tint err = x ? 0 : -ENOMEM;\n\n\treturn err;\n}\n"},
]
