# SPDX-License-Identifier: MIT
"""Pages in a headless Chromium without a network: the document after its scripts have run, as texts by id and tables by id."""

import html.parser
import shutil
import subprocess
import tempfile

from instance import search_path
from program import Failure, Skip, patient

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND"]
VOID = {"meta", "link", "br", "hr", "input", "img"}


class Document(html.parser.HTMLParser):
    """texts: id -> text inside; tables: id -> rows of cells; links: (text, href)."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.tables, self.links = [], {}, {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in VOID:
            self.open.append((tag, given.get("id"), given.get("href")))
        if given.get("id"):
            self.texts.setdefault(given["id"], "")
        if tag == "table" and given.get("id"):
            self.tables[given["id"]] = []
        if tag == "tr" and self.table() is not None:
            self.table().append([])
        if tag in ("td", "th") and self.table():
            self.table()[-1].append("")
        if tag == "a":
            self.links.append(["", given.get("href")])

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for _, name, _ in self.open:
            if name:
                self.texts[name] += data
        if any(tag in ("td", "th") for tag, _, _ in self.open) and self.table() and self.table()[-1]:
            self.table()[-1][-1] += data
        if any(tag == "a" for tag, _, _ in self.open):
            self.links[-1][0] += data

    def table(self):
        for tag, name, _ in reversed(self.open):
            if tag == "table":
                return self.tables.get(name)
        return None


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name, path=search_path()):
            return name
    raise Skip("chromium is not installed")


def shown(path, fragment="", budget_ms=5000):
    """The document of a file after budget_ms of virtual time."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([chromium(), *FLAGS, f"--user-data-dir={profile}", f"--virtual-time-budget={budget_ms}",
                               "--window-size=1400,1000", "--dump-dom", f"file://{path}#{fragment}"],
                              capture_output=True, text=True, check=False, timeout=patient(60))
    if done.returncode != 0 or "</html>" not in done.stdout:
        raise Failure(f"chromium: exit {done.returncode}: {done.stderr[-2000:]}")
    return Document(done.stdout)
