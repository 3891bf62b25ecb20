# SPDX-License-Identifier: MIT
"""lib/abi/features.tsv has every function that programs can call: the exported ones of symbols.tsv and the inline ones of verbs.h.
What is generated as a refusal is refused there, and docs/VERBS.md is what the table generates.

usage: check_features.py SOURCE_ROOT [VERBS_H]"""

import os
import re
import sys

# Called by providers, by inline functions, or by programs of before 1.1 only.
INTERNAL = re.compile(r"(mult_to_)?(ibv_register_driver|ibv_copy_\w+_kern|ibv_get_sysfs_path|ibv_read_sysfs_file|"
                      r"rxe_dm_\w+|verbs_\w+|ibv_query_gid_type|ibv_wr_opcode_str)$")


def symbols(path):
    """(node, name, kind) of all but the private nodes; the last line of a name counts."""
    rows = {}
    with open(path, encoding="ascii") as f:
        for line in f:
            if line.strip() and not line.startswith(("#", "PRIVATE")):
                node, name, kind = line.rstrip("\n").split("\t")
                rows[name.lstrip("_")] = (node, kind)
    return rows


def inline(path):
    with open(path, encoding="utf-8") as f:
        return {n.lstrip("_") for n in re.findall(r"^static inline\b[^;{]*?\b(\w+)\s*\(", f.read(), re.MULTILINE)}


def problems(states, exported, inlined):
    found = []
    for name, (_, kind) in exported.items():
        if name not in states and not INTERNAL.match(name):
            found.append(f"{name}: exported, but not in features.tsv")
        elif name in states and kind != "code" and states[name] != "refused":
            found.append(f"{name}: generated as a refusal, but {states[name]} in features.tsv")
        elif name in states and kind == "code" and name not in inlined and states[name] == "refused" and "ece" not in name:
            found.append(f"{name}: written in C, but refused in features.tsv")
    for name in inlined - set(states):
        if not INTERNAL.match(name):
            found.append(f"{name}: inline in verbs.h, but not in features.tsv")
    return sorted(found)


def main():
    root = sys.argv[1]
    header = sys.argv[2] if len(sys.argv) > 2 else "/usr/include/infiniband/verbs.h"
    sys.path.insert(0, os.path.join(root, "lib/abi"))
    import generate_features as generate
    mlx5 = os.path.join(root, "lib/mlx5/symbols.tsv")
    sections = generate.read(os.path.join(root, "lib/abi/features.tsv"), generate.exported(mlx5))
    states = {name: state for _, rows in sections for _, name, state, _ in rows}
    exported = {**symbols(os.path.join(root, "lib/abi/symbols.tsv")), **symbols(mlx5)}
    inlined = inline(header) if os.path.exists(header) else set()
    # The check proves that it can fail.
    lame = dict(states, mlx5dv_create_flow="works", ibv_alloc_pd="refused")
    del lame["ibv_poll_cq"], lame["ibv_dereg_mr"]
    if len(problems(lame, exported, inlined | {"ibv_poll_cq"})) < 4:
        print("the check overlooks what is wrong")
        return 1
    found = problems(states, exported, inlined)
    with open(os.path.join(root, "docs/VERBS.md"), encoding="ascii") as f:
        if f.read() != generate.markdown(sections):
            found.append("docs/VERBS.md is not what features.tsv generates: "
                         "lib/abi/generate_features.py lib/abi/features.tsv lib/mlx5/symbols.tsv docs/VERBS.md")
    print("\n".join(found))
    count = {state: sum(1 for s in states.values() if s == state) for state in generate.STATES}
    print(f"{len(states)} functions: " + ", ".join(f"{n} {state}" for state, n in count.items()))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
