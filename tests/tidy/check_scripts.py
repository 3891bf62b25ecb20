# SPDX-License-Identifier: MIT
"""Shell scripts pass shellcheck and can be executed, but for what a shell sources (.bash)."""

import os
import shutil
import subprocess
import tempfile


def check(tree, context):
    if not shutil.which("shellcheck"):
        context.skip("shellcheck is not installed")
    if tree.root is None:
        with tempfile.TemporaryDirectory() as folder:
            laid = tree.write_to(folder)
            for path in laid.texts:
                os.chmod(os.path.join(folder, path), 0o755)
            return check(laid, context)
    scripts = [p for p, t in tree.texts.items()
               if t.startswith(("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/env bash"))]
    complaints = [f"{p}: is not executable" for p in sorted(scripts)
                  if not os.access(os.path.join(tree.root, p), os.X_OK)]
    sourced = [p for p in tree.texts if p.endswith(".bash")]
    if scripts or sourced:
        done = subprocess.run(["shellcheck", "-x", "--format=gcc"] + sorted(scripts + sourced),
                              cwd=tree.root, capture_output=True, text=True, check=False)
        complaints += [line for line in (done.stdout + done.stderr).split("\n") if line]
    return complaints


GOOD = [{"tests/a": "#!/bin/sh\necho \"$1\"\n"}]
BAD = [
    {"tests/a": "#!/bin/sh\nfor f in $(ls); do rm $f; done\n"},
    {"rxe_dm/a.bash": "# shellcheck shell=bash\nrm $f\n"},
]
