# SPDX-License-Identifier: MIT
"""The owner of the repository, the addresses and the version of the action are the same wherever a person or a tool reads them.

.packaging/placeholders decides the owner and the addresses, meson.build the version."""

import re

PLACE = ".packaging/placeholders"
READ = (".github/", ".packaging/", "docs/", "README.md", "CONTRIBUTING.md", "tests/client/")
OWNER = re.compile(r"(?:github\.com/|\buses: )([\w.-]+)/rxe_dm\b")
ACTION = re.compile(r"/rxe_dm/\.github/actions/[\w/]+@v([\d.]+)")
ADDRESS = re.compile(r"[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}\b")
FIELD = re.compile(r"^(\w+)=(.+)$", re.M)
FIELDS = {"owner", "maintainer", "security"}


def check(tree, _context):
    known = dict(FIELD.findall(tree.texts.get(PLACE, "")))
    found = re.search(r"^  version: '(\d+\.\d+)\.\d+'", tree.texts.get("meson.build", ""), re.M)
    if set(known) != FIELDS or not found:
        return [f"{PLACE}, meson.build: not found: {sorted(FIELDS - set(known))} and a version"]
    addresses = {known["maintainer"], known["security"]}
    complaints = []
    for path, text in tree.sources(("",)):
        if not path.startswith(READ) or path == PLACE:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            wrong = [f"the owner is {known['owner']}, not {name}" for name in OWNER.findall(line) if name != known["owner"]]
            wrong += [f"the version of the action is {found[1]}, not {name}" for name in ACTION.findall(line) if name != found[1]]
            wrong += [f"{name} is no address of {PLACE}" for name in ADDRESS.findall(line) if name not in addresses]
            complaints += [f"{path}:{number}: {what}" for what in wrong]
    # A copy that is filled in must not be committed: the next owner would not find it.
    complaints += [f"{path}: write @MAINTAINER@" for path, text in tree.sources(("",), ".packaging/")
                   if path != PLACE and known["maintainer"] in text]
    return complaints


PLACEHOLDERS = {PLACE: "owner=me\nmaintainer=me@a.org\nsecurity=safe@a.org\n", "meson.build": "project('x', 'c',\n  version: '1.2.3',\n"}
GOOD = [
    {**PLACEHOLDERS, "README.md": "- uses: me/rxe_dm/.github/actions/rxe_dm@v1.2\n", "docs/SECURITY.md": "safe@a.org\n",
     ".packaging/debian/control": "Maintainer: us <@MAINTAINER@>\n"},
    {**PLACEHOLDERS, "docs/CI.md": "- uses: actions/checkout@v4\n"},
]
BAD = [
    {**PLACEHOLDERS, "README.md": "- uses: you/rxe_dm/.github/actions/rxe_dm@v1.2\n"},
    {**PLACEHOLDERS, ".github/ISSUE_TEMPLATE/config.yml": "url: https://github.com/you/rxe_dm/security\n"},
    {**PLACEHOLDERS, "docs/CI.md": "- uses: me/rxe_dm/.github/actions/rxe_dm@v1.1\n"},
    {**PLACEHOLDERS, "docs/SECURITY.md": "write to old@a.org\n"},
    {**PLACEHOLDERS, ".packaging/debian/control": "Maintainer: us <me@a.org>\n"},
    {"meson.build": PLACEHOLDERS["meson.build"]},
]
