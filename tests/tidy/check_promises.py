# SPDX-License-Identifier: MIT
"""Every test that docs/PROMISES.md names exists: `program: test, test; program: test`, what stands in brackets apart."""

import re

PAGE = "docs/PROMISES.md"
WHERE = ["tests/client/{}.c", "tests/unit/{}.c", "tests/trace/{}.c", "tests/abi/{}.py"]
CASE = re.compile(r'"([a-z_0-9]+)"')
VARIANT = re.compile(r"(.*?)_(no_vm|shy|off)$")


def check(tree, _context):
    if PAGE not in tree.texts:
        return []
    complaints = []
    for number, line in enumerate(tree.texts[PAGE].split("\n"), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("Promise", "---") or set(cells[0]) == {"-"}:
            continue
        if len(cells) != 2:
            complaints.append(f"{PAGE}:{number}: a row is a promise and its tests")
            continue
        for missing in missing_from(tree, cells[1]):
            complaints.append(f"{PAGE}:{number}: there is no {missing}")
    return complaints


def missing_from(tree, cell):
    for item in re.sub(r"\([^)]*\)", "", cell).split(";"):
        program, _, tests = item.strip().partition(":")
        text = text_of(tree, program.strip())
        if text is None:
            yield f"test '{program.strip()}'"
            continue
        for test in filter(None, (name.strip() for name in tests.split(","))):
            if not re.search(rf"\bSTART_TEST\({re.escape(test)}\)", text):
                yield f"'{test}' in {program.strip()}"


def text_of(tree, program):
    """A program's source; of a case of the client suite, and of an example, that it is run. None: there is no such thing."""
    cases = "\n".join(text for path, text in tree.texts.items() if path.startswith("tests/client/cases_"))
    variant = VARIANT.match(program)
    for place in WHERE:
        for name in [program] + ([variant[1]] if variant else []):
            if place.format(name) in tree.texts:
                return tree.texts[place.format(name)]
    if f"{program}.c" in {path.rpartition("/")[2] for path in tree.texts if path.startswith("tests/bench/")}:
        return ""
    example = program.partition("example_")[2]
    if example and f"examples/{example}.c" in tree.texts and example in CASE.findall(cases):
        return ""
    return None


def page(cell):
    return f"| Promise | Test |\n|---|---|\n| it works | {cell} |\n"


TREE = {
    "tests/client/verbs_dm.c": "START_TEST(copies)\nSTART_TEST(keys)\n",
    "tests/trace/deferred.c": "START_TEST(a_read)\n",
    "tests/bench/thread_domain.c": "",
    "examples/dmah.c": "",
    "tests/client/cases_examples.py": 'SAID = {"dmah": []}\n',
}
GOOD = [
    {PAGE: page("verbs_dm: copies, keys (with care); deferred: a_read; verbs_dm_no_vm: keys; example_dmah; thread_domain"), **TREE},
]
BAD = [
    {PAGE: page("verbs_dm: copies, locks"), **TREE},
    {PAGE: page("verbs_md: copies"), **TREE},
    {PAGE: page("example_dm"), **TREE},
    {PAGE: page("the same as above"), **TREE},
    {PAGE: page(""), **TREE},
    {PAGE: "| Promise | Test |\n|---|---|\n| it works |\n", **TREE},
]
