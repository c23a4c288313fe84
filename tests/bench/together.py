"""What the machine allows a model on several cores: processes of one thread each, a core each, at the same time. They share memory, the last cache and
the clock, and nothing else, so that N threads of one process cannot be expected to go further beyond one.
"""
import os

EDGE = 0.1  # of a turn, at either end, where the others may not run


class Together:
    """Workers of run.py of the same one-thread program; `rounds` has each round's samples of all of them."""

    def __init__(self, make, cores):
        self.workers, self.least = [], [float("inf")] * len(cores)
        for core in cores:
            self.workers.append(make())
            if hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(self.workers[-1].process.pid, {core})

    def turn(self, seconds):
        for w in self.workers:
            w.ask(seconds)
        for k, w in enumerate(self.workers):
            w.answer()
            samples = w.rounds[-1]
            edge = int(EDGE * len(samples))
            self.least[k] = min(self.least[k], *samples[edge:len(samples) - edge])

    def close(self):
        for w in self.workers:
            w.close()

    def ceiling(self, alone_us):
        """How many times as much all of them compute in a second as one that has the machine to itself."""
        return sum(alone_us / least for least in self.least)
