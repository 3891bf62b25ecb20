# SPDX-License-Identifier: MIT
"""A job of a GitHub workflow, on this machine: the files that a runner gives to each step, and the expressions of our actions.

Each `run` is executed as it stands. Of `uses`, those of this repository are run from here, a cache and an upload are folders."""

import json
import os
import re
import shutil

from machine import ROOT
from program import Failure, Skip

try:
    import yaml
except ImportError:
    yaml = None

with open(os.path.join(ROOT, ".packaging/placeholders"), encoding="utf-8") as placeholders:
    OWNER = re.search(r"^owner=(.*)$", placeholders.read(), re.M)[1]
with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as project:
    VERSION = re.search(r"^  version: '(\d+\.\d+)\.", project.read(), re.M)[1]
OURS = re.compile(rf"(?:{re.escape(OWNER)}/rxe_dm|\.)/(\.github/actions/[\w/]+)(?:@v{re.escape(VERSION)})?")


def load_all(text):
    """The documents of a YAML text; all values are strings."""
    if yaml is None:
        raise Skip("python3-yaml is not installed")
    return list(yaml.load_all(text, yaml.BaseLoader))


def load(text):
    return load_all(text)[0]


class Job:
    """On a Machine. env: of the job. cache: folders by key. failed: a step has failed; only those with `if: failure()` still run."""

    def __init__(self, machine, env=None, cache=None):
        self.machine = machine
        self.workspace, self.temp = (os.path.join(machine.shared, name) for name in ("workspace", "temp"))
        for path in (self.workspace, self.temp):
            os.mkdir(path)
        self.env = dict(machine.env, GITHUB_RUN_ID="7", RUNNER_TEMP=self.temp, **(env or {}))
        self.cache = cache or {}
        self.paths = []
        self.said = []
        self.uploads = {}
        self.failed = False

    def steps(self, steps, inputs=None, action=None):
        outputs = {}
        for step in steps:
            if self.wanted(step.get("if"), inputs):
                found = self.step(step, inputs or {}, outputs, action)
                outputs.update({f"steps.{step['id']}.outputs.{name}": value for name, value in found.items()} if "id" in step else {})

    def wanted(self, condition, inputs):
        if condition == "failure()":
            return self.failed
        if condition == "always()":
            return True
        if condition:
            name, value = re.fullmatch(r"inputs\.(\w+) == '(\w*)'", condition).groups()
            return inputs[name] == value and not self.failed
        return not self.failed

    def step(self, step, inputs, outputs, action):
        known = {f"inputs.{name}": value for name, value in inputs.items()} | outputs

        def expand(value):
            return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: known[found.group(1)], str(value))
        arguments = {name: expand(value) for name, value in step.get("with", {}).items()}
        if "run" in step:
            return self.run(step["run"], action, {name: expand(value) for name, value in step.get("env", {}).items()})
        self.use(step["uses"], arguments)
        return {}

    def run(self, script, action=None, more=None):
        files = {f"GITHUB_{name}": os.path.join(self.temp, f"github-{name.lower()}") for name in ("ENV", "PATH", "OUTPUT")}
        for path in files.values():
            with open(path, "w", encoding="utf-8"):
                pass
        env = dict(self.env, **files, **(more or {}), PATH=":".join([*reversed(self.paths), self.env["PATH"]]))
        if action:
            env["GITHUB_ACTION_PATH"] = action
        status, text = self.machine.run(script, script.split("\n", maxsplit=1)[0], env, self.workspace)
        self.said.append(text)
        self.failed = self.failed or status != 0
        self.env.update(pairs(files["GITHUB_ENV"]))
        with open(files["GITHUB_PATH"], encoding="utf-8") as f:
            self.paths += f.read().splitlines()
        return pairs(files["GITHUB_OUTPUT"])

    def use(self, name, arguments):
        ours = OURS.fullmatch(name)
        if ours:
            folder = os.path.join(ROOT, ours.group(1))
            with open(os.path.join(folder, "action.yml"), encoding="utf-8") as f:
                action = load(f.read())
            defaults = {key: row["default"] for key, row in action["inputs"].items()}
            if set(arguments) - set(defaults):
                raise Failure(f"{name} has no inputs {set(arguments) - set(defaults)}")
            before, self.failed = self.failed, False  # success() is the action's own
            self.steps(action["runs"]["steps"], defaults | arguments, folder)
            self.failed = self.failed or before
        elif name == "actions/cache@v4":
            if arguments["key"] in self.cache:
                shutil.copytree(self.cache[arguments["key"]], arguments["path"], symlinks=True)
        elif name == "github/codeql-action/upload-sarif@v3":
            with open(os.path.join(self.workspace, arguments["sarif_file"]), encoding="utf-8") as f:
                self.uploads["sarif"] = json.load(f)["runs"][0]["results"]
        elif name == "actions/upload-artifact@v4":
            self.uploads[arguments["name"]] = arguments["path"]
        elif name != "actions/checkout@v4":
            raise Failure(f"a step uses {name}")


def pairs(path):
    """Lines NAME=value."""
    with open(path, encoding="utf-8") as f:
        return dict(line.split("=", 1) for line in f.read().splitlines())
