# SPDX-License-Identifier: MIT
"""The blocks of a page in docs/: what stands between fences."""

import os
import re

from machine import ROOT


def text_of(page):
    with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as f:
        return f.read()


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(page), re.M | re.S)
