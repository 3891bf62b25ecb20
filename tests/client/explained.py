# SPDX-License-Identifier: MIT
"""Programs under a log: a call that returned an error without a reason fails the test."""

import contextlib
import tempfile

from program import Failure


@contextlib.contextmanager
def explained():
    """The environment of a program whose refusals must all have a reason."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as log:
        yield {"VERBS_LOG_LEVEL": "2", "VERBS_LOG_FILE": log.name}
        unexplained = [line for line in log if "no reason is known" in line]
    if unexplained:
        raise Failure("refusals without a reason:\n" + "".join(unexplained))
