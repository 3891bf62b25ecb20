# SPDX-License-Identifier: MIT
"""Several trials at once, each in a process of its own, which may leave the network namespace of this one."""

import os
import pickle
import select
import signal
import sys


class Trial:
    """One that runs. fd: where its result comes from."""

    def __init__(self, work, arguments):
        self.fd, to = os.pipe()
        self.pid, self.received = os.fork(), b""
        if self.pid:
            os.close(to)
            return
        os.close(self.fd)
        # Ends as after an error: what the trial started is ended.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        status = 1
        try:
            with os.fdopen(to, "wb") as file:
                pickle.dump(work(*arguments), file)
            status = 0
        finally:
            os._exit(status)

    def read(self):
        """True: its process has ended."""
        data = os.read(self.fd, 1 << 16)
        self.received += data
        return not data

    def end(self):
        """The result; None: the process died without one."""
        os.close(self.fd)
        status = os.waitpid(self.pid, 0)[1]
        return pickle.loads(self.received) if status == 0 else None


class Pool:
    """At most jobs trials at a time. This process has no threads, so that forking is safe."""

    def __init__(self, jobs, work):
        self.jobs, self.work, self.trials = jobs, work, {}

    def is_full(self):
        return len(self.trials) >= self.jobs

    def start(self, tag, arguments):
        """tag comes back with the result."""
        trial = Trial(self.work, arguments)
        self.trials[trial.fd] = (tag, trial)

    def next(self):
        """Waits for the first trial that ends: its tag and its result."""
        while True:
            for fd in select.select(list(self.trials), [], [])[0]:
                tag, trial = self.trials[fd]
                if trial.read():
                    del self.trials[fd]
                    return tag, trial.end()

    def close(self):
        """Interrupts what still runs, and waits for it."""
        for _, trial in self.trials.values():
            os.kill(trial.pid, signal.SIGTERM)
        while self.trials:
            self.next()
