"""What `castnet bench --json` says of a model's steps, summed by what bounds them: multiply-accumulates, or bytes of some level of memory."""
import json
import subprocess

LOW = 0.7  # a step below this share of its limit is listed
SMALL = 0.01  # unless it takes less than this part of the model's time


ROUNDS = 2  # measurements of a model where they are of several threads and of one, in turns


class Bound:
    """Steps that one thing bounds: their time, the least that this machine could need for them, and their time on one thread."""

    def __init__(self):
        self.us = self.limit_us = self.one_us = 0.0

    def add(self, step):
        self.us += step["us"]
        self.limit_us += step["limit_us"]
        self.one_us += step.get("one_us", 0.0)

    def share(self):
        return self.limit_us / self.us if self.us else None

    def scales(self):
        return self.one_us / self.us if self.us and self.one_us else None


def bench(castnet, model, data_set, target, cc, threads):
    """What `castnet bench` says; None where the model does not run."""
    command = [castnet, "bench", model, data_set, "--target", target, "--cc", cc, "--json"]
    if threads > 1:
        command += ["--threads", threads]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    return None if done.returncode else json.loads(done.stdout)


def least_steps(*model, threads):
    """(FMA peak, steps), each with its least time; of several threads over some rounds, with that on one thread beside it: sums of these tell how far steps
    scale where a machine's neighbours leave no call undisturbed."""
    rounds = [[bench(*model, n) for n in ((threads, 1) if threads > 1 else (1,))] for _ in range(ROUNDS if threads > 1 else 1)]
    told, *one = zip(*rounds)
    if None in told or (one and None in one[0]):
        return None
    steps = told[0]["steps"]
    for i, step in enumerate(steps):
        step["us"] = min(t["steps"][i]["us"] for t in told)
        if one:
            step["one_us"] = min(t["steps"][i]["us"] for t in one[0])
    return told[0]["peak_gflops"], steps


def measure(castnet, model, data_set, target, cc, threads=1):
    """{"compute", "memory": Bound; "low": [(function, operator, calls, share, part of the time)]}; None where the model does not run."""
    told = least_steps(castnet, model, data_set, target, cc, threads=threads)
    if told is None:
        return None
    peak, all_steps = told
    total = sum(s["us"] for s in all_steps) or 1.0
    found = {"compute": Bound(), "memory": Bound(), "low": []}
    low = {}
    for step in all_steps:
        if not step.get("limit_us"):
            continue
        by_macs = 2e-3 * step["macs"] / peak
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
