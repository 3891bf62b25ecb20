# SPDX-License-Identifier: MIT
"""Text that is written into HTML: names come from other programs, so everything is escaped."""

import html


def text(value):
    return html.escape(str(value))


def element(name, inner, **attributes):
    """inner is HTML already. A trailing _ of an attribute's name is left out, other _ become -."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>{inner}</{name}>"


def table(heads, rows, **attributes):
    """rows of texts; a cell that is a pair (HTML,) is written as it is."""
    head = "".join(element("th", text(cell), scope="col") for cell in heads)
    body = "".join(element("tr", "".join(cell_of(cell) for cell in row)) for row in rows)
    return element("table", element("thead", element("tr", head)) + element("tbody", body), **attributes)


def cell_of(cell):
    if isinstance(cell, tuple):
        return element("td", cell[0])
    if isinstance(cell, int):
        return element("td", text(f"{cell}"), class_="number")
    return element("td", text(cell))


def size_text(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.4g} {unit}"
        count /= 1024
    return ""
