# SPDX-License-Identifier: MIT
"""The blocks of a page in docs/: what stands between fences."""

import os
import re

from machine import ROOT


def blocks(page, language):
    with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as f:
        return re.findall(rf"^```{language}\n(.*?)^```$", f.read(), re.M | re.S)
