#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From a table of layouts make a C file of static assertions.

usage: generate_layout.py TABLE OUT.c installed|newer [HEADER]

installed: the structures are those of the installed verbs.h; newer: ours where it has grown since.
"""
import sys

# Structures that grew in place: our name, and the fields that are ours; all others are inside .base.
GROWN = {
    "verbs_context": ("verbs_context_65", {"free_buf", "alloc_buf", "dm_export_dmabuf_fd", "reg_mr_ex",
                                           "dealloc_dmah", "alloc_dmah"}),
    "ibv_port_attr": ("ibv_port_attr_65", {"active_speed_ex"}),
    "ibv_qp_ex": ("ibv_qp_ex_65", {"wr_atomic_write", "wr_flush"}),
    "ibv_device_attr_ex": ("ibv_device_attr_ex_65", {"phys_port_cnt_ex"}),
    "ibv_dm": ("ibv_dm_65", {"handle"}),
    "ibv_cq_init_attr_ex": ("ibv_cq_init_attr_ex_65", {"parent_domain"}),
    "ibv_mr_init_attr": ("ibv_mr_init_attr_65", {"buf"}),
}


def main():
    table, out, which = sys.argv[1:4]
    headers = "".join("#include <%s>\n" % header for header in sys.argv[4:])
    with open(table, encoding="ascii") as f:
        rows = [line.split() for line in f if not line.startswith("#")]
    with open(out, "w", encoding="ascii") as f:
        f.write("/* Made by generate_layout.py. */\n#include <assert.h>\n#include <stddef.h>\n#include <time.h>\n\n"
                '#include "lib/abi/newer.h"\n%s\n' % headers)
        for struct, offset, size, field in rows:
            name, own = struct, None
            if which == "newer" and struct in GROWN:
                name, own = GROWN[struct]
            if offset == "size":
                f.write('static_assert(sizeof(struct %s) == %s, "%s");\n' % (name, size, struct))
                continue
            path = field if own is None or field in own else "base." + field
            f.write('static_assert(offsetof(struct %s, %s) == %s, "%s.%s");\n' % (name, path, offset, struct, field))
            f.write('static_assert(sizeof(((struct %s *)0)->%s) == %s, "%s.%s");\n' % (name, path, size, struct, field))
        f.write("\nint main(void)\n{\n\treturn 0;\n}\n")


main()
