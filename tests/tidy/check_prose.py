# SPDX-License-Identifier: MIT
"""Documents and C comments keep out of patterns that stop a reader: each has a plain form."""

import re

SENTENCE = r"(?:^|(?<=[.!?] )|(?<=[.!?]\) ))"
PATTERNS = [
    (re.compile(r"\bbehind\b", re.I), "write after, or beyond"),
    (re.compile(r", too\b(?=\s*(?:[.;:,)|]|$))"), "write also, before the verb"),
    (re.compile(SENTENCE + r"(?:That|Which|Beside)\b(?! is to say)"), "begin with the subject"),
    # "Of ten packets, two are lost." has a subject after the comma.
    (re.compile(SENTENCE + r"(?:Of|Until)\b(?=[^,.;]*(?:[.;]|$))"), "begin with the subject"),
    (re.compile(r"\b(?:no|some)body\b", re.I), "name the process, the program or the host"),
    (re.compile(r"\bas ever\b", re.I), "write as before, or nothing"),
    (re.compile(r"\bdice\b", re.I), "write random numbers"),
    (re.compile(r"\b(?:is|are|was|were|be) of(?=[.,;:)]|$)"), "end the clause with a verb or a noun"),
    (re.compile(r"\b(?:hears?|heard)\b(?!\()", re.I), "things receive, or are called"),
    (re.compile(r"\btells?\b(?!\(|[^.;]*\b(?:apart|from)\b)", re.I), "things say, show or report"),
    (re.compile(r"\bmeets?\b(?!\()", re.I), "things reach, find or exchange"),
]

SELF = "tests/tidy/"

COMMENT = re.compile(r"""(?P<block>/\*.*?\*/) | (?P<lines>//[^\n]*(?:\n[ \t]*//[^\n]*)*)
  | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'""", re.VERBOSE | re.DOTALL)
CODE = re.compile(r"`[^`]*`")
BREAK = re.compile(r"\.(?:PP|TP|SH|SS|IP|TH|RS|RE|br)\b")
FONT = re.compile(r"\\f.|\\(?=-)")


def check(tree, _context):
    return [complaint for path in sorted(tree.texts) if not path.startswith(SELF)
            for complaint in findings(path, tree.texts[path])]


def findings(path, text):
    for number, words in paragraphs(path, text):
        for pattern, remedy in PATTERNS:
            for found in pattern.finditer(words):
                near = words[max(0, found.start() - 30):found.end() + 30].strip()
                yield f"{path}:{number}: '{found.group().strip(' ,')}' in '{near}': {remedy}"


def paragraphs(path, text):
    """Number of the first line, and the lines joined, of each paragraph that a person reads."""
    if path.endswith(".md"):
        return joined(prose_of_page(text))
    if re.search(r"^docs/.*\.[157]$", path):
        return joined(prose_of_manual(text))
    if path.endswith((".c", ".h")):
        return joined(prose_of_comments(text))
    return []


def joined(lines):
    """lines are (number, words); empty words end a paragraph."""
    first, held = 0, []
    for number, words in lines:
        if words and not held:
            first = number
        if words:
            held.append(words)
        elif held:
            yield first, " ".join(held)
            held = []
    if held:
        yield first, " ".join(held)


def prose_of_page(text):
    """Without code; a heading, an item of a list and a cell of a table are paragraphs of their own."""
    fenced, before = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    ") and not before:
            continue
        else:
            words = CODE.sub("X", line.strip())
            if words.startswith(("#", "- ", "* ", "|")):
                yield number, ""
            for cell in words.strip("|").split("|") if words.startswith("|") else [words.lstrip("#-* ")]:
                yield number, cell.strip()
                if words.startswith(("#", "|")):
                    yield number, ""
        before = line.strip() if not line.startswith("    ") else ""
    yield 0, ""


def prose_of_manual(text):
    literal = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith((".nf", ".fi")):
            literal = line.startswith(".nf")
        if literal or line.startswith((".\\\"", ".nf", ".fi")):
            continue
        if BREAK.match(line):
            yield number, ""
        else:
            words = re.sub(r"^\.[BI][RI]? ", "", line)
            yield number, FONT.sub("", words).replace("\"", "").strip()
    yield 0, ""


def prose_of_comments(text):
    for match in COMMENT.finditer(text):
        comment = match.group("block") or match.group("lines")
        if not comment:
            continue
        number = text.count("\n", 0, match.start()) + 1
        for offset, line in enumerate(comment.split("\n")):
            yield number + offset, CODE.sub("X", re.sub(r"^\s*(?:/\*+|\*+/?|//)|\*/$", "", line).strip())
        yield number, ""


GOOD = [
    {"docs/A.md": "# After\n\nAdapters also do so. Until the peer answers, the engine waits.\n\n    tell it behind nobody\n"},
    {"docs/A.md": "```sh\necho nobody, too.\n```\nThe option `behind` is a name. Of ten packets, two are lost.\n"},
    {"emu/a.c": '/* PSNs that nothing can tell apart. */\nlog("nobody hears, too.");\n'},
    {"emu/a.c": "/* Sends what it is made of. Calls hear(). */\n"},
    {"docs/a.1": ".SH A\n.nf\nnobody\n.fi\nThe user\n.B nobody.conf\n".replace("nobody.conf", "root")},
]
BAD = [
    {"docs/A.md": "Include newer.h behind verbs.h.\n"},
    {"docs/A.md": "It works. Adapters do so,\ntoo.\n"},
    {"docs/A.md": "| it works, too | yes |\n"},
    {"docs/A.md": "- It ends. Which of them is\n  first?\n"},
    {"emu/a.h": "/* Packets.\n * Until all is read of those\n * that have left. */\n"},
    {"emu/a.h": "/* Of a queue pair. */\n"},
    {"emu/a.c": "// The slot has met no process, and some" + "body it.\n"},
    {"emu/a.c": "/* The table that the GIDs are of. */\n"},
    {"emu/a.c": "int x; /* free does not hear of it */\n"},
    {"docs/a.1": ".SH A\nThe server\n.B tells\nthe program.\n"},
    {"docs/a.7": "The peer works as\never.\n"},
    {"README.md": "A host meets another one.\n"},
    {"emu/a.c": "/* The dice of a seed. */\n"},
    {"tests/unit/a.c": "/* Until it ends. */\n"},
    {"rxe_dm/a.c": "/* The packets go on. Beside the server. */\n"},
]
