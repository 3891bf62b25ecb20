# SPDX-License-Identifier: MIT
"""Finds the places of a C file where a fault can be put, and rewrites the file so that it holds all of them, each one chosen
by its number at run time (mutant schemata). libclang gives the ranges; what a macro expands to is left alone."""

import hashlib
import re
import subprocess
from collections import namedtuple

from clang import cindex
from clang.cindex import CursorKind as Kind

# function: its name; place: the text that changes; line: the whole line, without indentation; edits: (start, end, opening,
# [(from, to, text)], closing) around the range; digest: of the function's text and the place in it.
Mutant = namedtuple("Mutant", "file function kind place line start end edits digest")

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
COMPARED = re.compile(r"^\s*(<=|>=|==|!=|<|>)\s*$")
NEVER = {"assert", "static_assert", "va_start", "va_end", "va_arg"}
ASSIGNED = re.compile(r"[^=!<>]=[^=]|\+\+|--")
JUMPS = {Kind.BREAK_STMT, Kind.CONTINUE_STMT, Kind.GOTO_STMT, Kind.RETURN_STMT}
BODIES = {Kind.COMPOUND_STMT, Kind.IF_STMT, Kind.FOR_STMT, Kind.WHILE_STMT, Kind.DO_STMT, Kind.CASE_STMT, Kind.DEFAULT_STMT}


class Source:
    """One C file, parsed with the options of its build."""

    def __init__(self, path, name, arguments):
        self.name = name
        self.data = path.read_bytes()
        options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        self.unit = cindex.Index.create().parse(str(path), args=arguments, options=options)
        errors = [d for d in self.unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if errors:
            raise ValueError(f"{name}: libclang: {errors[0]}")
        self.macros = [(*self.range(c), c.spelling) for c in self.unit.cursor.get_children()
                       if c.kind == Kind.MACRO_INSTANTIATION and self.is_here(c)]
        self.found = []

    def is_here(self, cursor):
        return cursor.location.file is not None and cursor.location.file.name == self.unit.spelling

    @staticmethod
    def range(cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def text(self, start, end):
        return self.data[start:end].decode("utf-8", "replace")

    def is_plain(self, start, end):
        """The range is neither inside a macro's text nor across its edge; it may be the whole of one."""
        if start >= end:
            return False
        for first, last, name in self.macros:
            same = (start, end) == (first, last)
            if same and name in NEVER:
                return False
            if not same and start < last and first < end and not (start <= first and last <= end):
                return False
        return True

    def is_macro(self, start, end):
        return any((start, end) == (first, last) for first, last, _ in self.macros)

    def mutants(self):
        for cursor in self.unit.cursor.get_children():
            if cursor.kind == Kind.FUNCTION_DECL and cursor.is_definition() and self.is_here(cursor):
                body = [c for c in cursor.get_children() if c.kind == Kind.COMPOUND_STMT]
                if body:
                    self.function = cursor.spelling
                    self.function_start, self.function_end = self.range(cursor)
                    self.last = ([None] + list(body[0].get_children()))[-1]
                    self.visit(body[0], None)
        return self.found

    def add(self, kind, start, end, opening, inner, closing):
        first = self.data.rfind(b"\n", 0, start) + 1
        last = self.data.find(b"\n", start)
        whole = self.text(self.function_start, self.function_end)
        print_of = f"{whole}\0{kind}\0{start - self.function_start}"
        self.found.append(Mutant(self.name, self.function, kind, " ".join(self.text(start, end).split()), self.text(first, last).strip(),
                                 start, end, (opening, inner, closing), hashlib.sha256(print_of.encode()).hexdigest()))

    def visit(self, cursor, parent):
        children = list(cursor.get_children())
        start, end = self.range(cursor)
        if cursor.kind == Kind.VAR_DECL and self.is_constant(cursor):
            return
        if cursor.kind == Kind.CXX_UNARY_EXPR:  # sizeof
            return
        from_macro = self.is_macro(start, end) and (parent is None or self.range(parent) == (start, end))
        if self.is_plain(start, end) and not from_macro:
            self.at(cursor, parent, children, start, end)
        for child in children:
            if cursor.kind == Kind.CASE_STMT and child == children[0]:
                continue
            if cursor.kind == Kind.VAR_DECL and "[" in cursor.type.spelling and child.kind != Kind.INIT_LIST_EXPR:
                continue
            self.visit(child, cursor)

    def is_constant(self, cursor):
        return cursor.storage_class == cindex.StorageClass.STATIC

    def at(self, cursor, parent, children, start, end):
        kind = cursor.kind
        if self.is_statement(cursor, parent):
            self.drop(cursor, start, end)
        if kind == Kind.BINARY_OPERATOR and len(children) == 2 and not self.is_macro(start, end):
            self.compare(children, start, end)
        if kind == Kind.INTEGER_LITERAL and not self.is_macro(start, end):
            # Downwards: one byte more in a copy is mostly overwritten by the next.
            closing = " + MUTANT({n}))" if self.text(start, end).rstrip("uUlL") == "0" else " - MUTANT({n}))"
            self.add("constant", start, end, "(", [], closing)
        for condition in self.conditions(cursor, children):
            first, last = self.range(condition)
            if self.is_plain(first, last) and not self.is_macro(start, end) and not self.is_compound(condition):
                self.add("negate", first, last, "(!!(", [], ") ^ MUTANT({n}))")

    def is_statement(self, cursor, parent):
        """A statement that stands alone: an expression, or a jump that is not the end of the function."""
        if parent is None or parent.kind not in BODIES or (parent.kind == Kind.FOR_STMT and cursor != list(parent.get_children())[-1]):
            return False
        if parent.kind in (Kind.IF_STMT, Kind.WHILE_STMT) and cursor == list(parent.get_children())[0]:
            return False
        if parent.kind == Kind.DO_STMT and cursor != list(parent.get_children())[0]:
            return False
        if cursor.kind in JUMPS:
            at_the_end = self.last is not None and self.range(self.last)[0] <= self.range(cursor)[0]
            return cursor.kind != Kind.RETURN_STMT or not at_the_end
        return cursor.kind.is_expression() and cursor.kind != Kind.INTEGER_LITERAL

    def drop(self, cursor, start, end):
        after = self.data.find(b";", end)
        if after < 0 or self.text(end, after).strip():
            return
        text = self.text(start, end)
        if text.startswith("(void)") and "(" not in text[6:]:
            return
        kind = "jump" if cursor.kind in JUMPS else "call" if cursor.kind == Kind.CALL_EXPR and not ASSIGNED.search(text) else "statement"
        self.add(kind, start, after + 1, "{{ if (!MUTANT({n})) ", [], " }}")

    def compare(self, children, start, end):
        left, right = (self.range(c) for c in children)
        sign = COMPARED.match(re.sub(r"/\*.*?\*/", "", self.text(left[1], right[0])))
        if not sign or not self.is_plain(*left) or not self.is_plain(*right) or (left[0], right[1]) != (start, end):
            return
        sign = sign.group(1)
        if sign in COMPARISONS:
            middle = (left[1], right[0], "); __auto_type right{n} = (")
            self.add("boundary", start, end, "({{ __auto_type left{n} = (", [middle],
                     f"); MUTANT({{n}}) ? left{{n}} {COMPARISONS[sign]} right{{n}} : left{{n}} {sign} right{{n}}; }}}})")
        self.add("negate", start, end, "((", [], ") ^ MUTANT({n}))")

    def conditions(self, cursor, children):
        if cursor.kind in (Kind.IF_STMT, Kind.WHILE_STMT, Kind.CONDITIONAL_OPERATOR):
            yield children[0]
        elif cursor.kind == Kind.DO_STMT:
            yield children[-1]
        elif cursor.kind == Kind.BINARY_OPERATOR and len(children) == 2 and self.is_logical(children):
            yield from children

    def is_logical(self, children):
        return self.text(self.range(children[0])[1], self.range(children[1])[0]).strip() in ("&&", "||")

    def is_compound(self, cursor):
        """A comparison, or made of && and ||: what it is made of is negated, not the whole. `!x`: x is negated."""
        while cursor.kind in (Kind.PAREN_EXPR, Kind.UNEXPOSED_EXPR) and len(list(cursor.get_children())) == 1:
            cursor = next(cursor.get_children())
        children = list(cursor.get_children())
        if cursor.kind != Kind.BINARY_OPERATOR or len(children) != 2:
            return False
        between = re.sub(r"/\*.*?\*/", "", self.text(self.range(children[0])[1], self.range(children[1])[0])).strip()
        return between in ("&&", "||", "==", "!=", *COMPARISONS)


def rewrite(data, numbered):
    """The text with all mutants in it: (number, mutant) pairs. Ranges are nested or apart."""
    pieces = []  # (position, order, text, end of what is replaced)
    for number, mutant in numbered:
        opening, inner, closing = (mutant.edits[0], mutant.edits[1], mutant.edits[2])
        size = mutant.end - mutant.start
        pieces.append((mutant.start, (2, -size, -number), opening.format(n=number), mutant.start))
        for first, last, text in inner:
            pieces.append((first, (1, 0, number), text.format(n=number), last))
        pieces.append((mutant.end, (0, size, number), closing.format(n=number), mutant.end))
    out, at = [], 0
    for position, _, text, resume in sorted(pieces):
        out += [data[at:position], text.encode()]
        at = resume
    return b"".join(out + [data[at:]])


def arguments_of(command):
    """What libclang needs of a compile command: paths, definitions, the standard."""
    kept, words = [], iter(command)
    for word in words:
        if word in ("-I", "-isystem", "-include", "-D"):
            kept += [word, next(words)]
        elif word.startswith(("-I", "-D", "-U", "-std=", "-isystem")):
            kept.append(word)
    resources = subprocess.run(["clang", "-print-resource-dir"], capture_output=True, text=True, check=False).stdout.strip()
    return kept + (["-resource-dir", resources] if resources else [])
