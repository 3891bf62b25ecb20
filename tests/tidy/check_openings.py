# SPDX-License-Identifier: MIT
"""Every C file opens with its licence in one line, then a sentence that says what it is; headers have a guard."""

import re

SPDX_C = "/* SPDX-License-Identifier: MIT */"
SPDX_LINES = (SPDX_C, "// SPDX-License-Identifier: MIT")
SENTENCE = re.compile(r"\A/\*\s+\S.*?[.:](\s|\*/)", re.DOTALL)
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1\b", re.MULTILINE)


def check(tree, _context):
    complaints = []
    for path, text in tree.sources():
        first, _, rest = text.partition("\n")
        if first not in SPDX_LINES:
            complaints.append(f"{path}:1: does not open with '{SPDX_C}'")
        if not SENTENCE.match(rest):
            complaints.append(f"{path}:2: no sentence that says what the file is")
        if path.endswith(".h") and not GUARD.search(text) and "#pragma once" not in text:
            complaints.append(f"{path}: a header without a guard")
    for path, text in tree.sources((".py", ".sh")):
        if "SPDX-License-Identifier: MIT" not in "\n".join(text.split("\n")[:2]):
            complaints.append(f"{path}:1: does not name its licence in its first two lines")
    return complaints


GOOD = [{
    "emu/a.c": SPDX_C + "\n/* Memory regions: keys and ranges. */\nint x;\n",
    "emu/a.h": SPDX_C + "\n/* Memory regions.\n * More. */\n#ifndef A_H\n#define A_H\n#endif\n",
}]
BAD = [
    {"emu/a.c": "/* Memory regions: keys and ranges. */\nint x;\n"},
    {"emu/a.c": SPDX_C + "\n#include <stdint.h>\n"},
    {"emu/a.c": SPDX_C + "\n/* memory */\nint x = 1;\n"},
    {"emu/a.h": SPDX_C + "\n/* Memory regions. */\nint x;\n"},
    {"tests/client/a.py": "import os\n"},
]
