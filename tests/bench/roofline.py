"""What this machine can do, and the least time that a model needs on it: for each step its multiply-accumulates at the FMA peak, or its bytes at the
read rate of the memory that holds so many, whichever takes longer. Multiply-accumulates are those of direct convolutions.
"""
import json
import subprocess


class Machine:
    """The best FMA peak (GFLOP/s) and read rates (GB/s, by the size of the block) that any measurement of this run found, of some threads."""

    def __init__(self, threads):
        self.threads, self.gflops, self.reads = threads, 0.0, {}

    def measure(self, program):
        """program: the words that start what `castnet bench --no-run` built."""
        done = subprocess.run([str(w) for w in [*program, "peak"]], capture_output=True, text=True, check=False)
        for words in map(str.split, done.stdout.splitlines()):
            if words[0] == "peak":
                self.gflops = max(self.gflops, float(words[1]))
            elif words[0] == "read":
                size = int(words[1])
                self.reads[size] = max(self.reads.get(size, 0.0), float(words[2]))

    def rate(self, size):
        return next((rate for block, rate in sorted(self.reads.items()) if size <= block), list(dict(sorted(self.reads.items())).values())[-1])

    def limit(self, steps):
        """{"us", "bound"} of steps as step_costs has them; bytes_us: of all their bytes, what bounds them or not."""
        by, every = {"compute": 0.0, "memory": 0.0}, 0.0
        for macs, size in steps:
            compute, memory = 2e-3 * macs / self.gflops, 1e-3 * size / self.rate(size)
            every += memory
            by["compute" if compute >= memory else "memory"] += max(compute, memory)
        return {"us": sum(by.values()), "bound": max(by, key=by.get), "compute_us": by["compute"], "memory_us": by["memory"],
                "bytes_us": every}

    def known(self):
        return bool(self.gflops and self.reads)

    def for_json(self):
        return {"threads": self.threads, "gflops": self.gflops, "reads": [{"bytes": b, "gbytes_per_s": r} for b, r in sorted(self.reads.items())]}

    def text(self):
        reads = ", ".join(f"{rate:.0f} GB/s from {size >> 10} KiB" for size, rate in sorted(self.reads.items()))
        return f"{self.threads} thread{'s'[:self.threads > 1]}: {self.gflops:.0f} GFLOP/s; read {reads}"


def step_costs(castnet, model, target):
    """[(multiply-accumulates, bytes)] of the steps; None where some are not known before a call."""
    command = [castnet, "inspect", model, "--target", target, "--no-run", "--json"]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    steps = json.loads(done.stdout)["steps"]
    if not steps or any(s["macs"] is None or s["bytes"] is None for s in steps):
        return None
    return [(s["macs"], s["bytes"]) for s in steps]
