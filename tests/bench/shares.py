"""What `castnet bench --json` says of a model's steps, summed by what bounds them: multiply-accumulates, or bytes of some level of memory."""
import json
import subprocess

LOW = 0.7  # a step below this share of its limit is listed
SMALL = 0.01  # unless it takes less than this part of the model's time


class Bound:
    """Steps that one thing bounds: their time, and the least that this machine could need for them."""

    def __init__(self):
        self.us = self.limit_us = 0.0

    def add(self, step):
        self.us += step["us"]
        self.limit_us += step["limit_us"]

    def share(self):
        return self.limit_us / self.us if self.us else None


def measure(castnet, model, data_set, target, cc, threads=1):
    """{"compute", "memory": Bound; "low": [(function, operator, calls, share, part of the time)]}; None where the model does not run."""
    command = [castnet, "bench", model, data_set, "--target", target, "--cc", cc, "--json"]
    if threads > 1:
        command += ["--threads", threads]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    told = json.loads(done.stdout)
    total = sum(s["us"] for s in told["steps"]) or 1.0
    found = {"compute": Bound(), "memory": Bound(), "low": []}
    low = {}
    for step in told["steps"]:
        if not step["limit_us"]:
            continue
        by_macs = 2e-3 * step["macs"] / told["peak_gflops"]
        found["compute" if by_macs >= 0.999 * step["limit_us"] else "memory"].add(step)
        if step["limit_us"] < LOW * step["us"] and step["us"] > SMALL * total:
            low.setdefault((step["function"], step["op"]), []).append(step)
    for (function, op), steps in low.items():
        us = sum(s["us"] for s in steps)
        found["low"].append((function, op, len(steps), sum(s["limit_us"] for s in steps) / us, us / total))
    return found


def add(sums, found):
    for kind in sums:
        sums[kind].us += found[kind].us
        sums[kind].limit_us += found[kind].limit_us


def text(share):
    return "-" if share is None else f"{100 * share:.0f} %"
