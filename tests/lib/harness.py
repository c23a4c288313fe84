"""Running castnet under limits and reporting what happened: shared by the test runners. Standard library only, and
small on purpose: a child's peak memory as the kernel reports it is never below that of the process it was forked from."""
import contextlib
import dataclasses
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

EXIT_OK, EXIT_REFUSED, EXIT_USAGE, EXIT_DIFFERS, EXIT_ENVIRONMENT, EXIT_BUG = range(6)
DIAGNOSTIC = re.compile(r"error (E\d{4}):")
UNSUPPORTED = {"E0301", "E0302", "E0303", "E0306"}  # a valid model that this version does not take
SANITIZER_EXIT = 99
SANITIZER_REPORT = re.compile(r"(AddressSanitizer|LeakSanitizer|MemorySanitizer|runtime error):")

# What can become of a case. Only the first two are ever acceptable.
PASS, REFUSED = "pass", "refused"
MISJUDGED, DIFFERS, FAILED, COMPILER = "misjudged", "differs", "failed", "compiler"
BUG, CRASH, TIMEOUT, SANITIZER, ENVIRONMENT, PROTOCOL = "bug", "crash", "timeout", "sanitizer", "environment", "protocol"
CLASS_TEXT = {
    PASS: "agrees with the recorded outputs",
    REFUSED: "refused: not supported yet",
    MISJUDGED: "refused as if the model were at fault",
    DIFFERS: "an output differs",
    FAILED: "the generated code returned an error or was ended by a signal",
    COMPILER: "the C compiler failed on the generated code",
    BUG: "castnet reported a bug in itself",
    CRASH: "castnet was ended by a signal",
    TIMEOUT: "took too long",
    SANITIZER: "a sanitizer reported",
    ENVIRONMENT: "the environment was at fault (exit 2 or 4)",
    PROTOCOL: "exit code and JSON contradict each other, or there is no JSON",
}


@dataclasses.dataclass
class Outcome:
    status: int  # exit code, or minus the signal's number
    timed_out: bool
    seconds: float
    peak: int  # bytes resident at most
    out: str
    err: str


def sanitizer_environment():
    env = dict(os.environ)
    env["ASAN_OPTIONS"] = f"detect_leaks=0:exitcode={SANITIZER_EXIT}:allocator_may_return_null=1"
    env["UBSAN_OPTIONS"] = f"halt_on_error=1:print_stacktrace=1:exitcode={SANITIZER_EXIT}"
    return env


def run(command, timeout, cwd=None, env=None, address_space=None):
    """Run to the end or the timeout, in a process group of its own that is killed as a whole."""
    command = [str(c) for c in command]
    if address_space:
        command = ["sh", "-c", f'ulimit -v {address_space // 1024}; exec "$@"', "sh", *command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd, env=env,
                                 start_new_session=True)
        late = threading.Event()

        def end():
            late.set()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

        timer = threading.Timer(timeout, end)
        timer.start()
        _, wait_status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(wait_status)
        return Outcome(child.returncode, late.is_set(), time.monotonic() - begin, usage.ru_maxrss * 1024,
                       read_all(out), read_all(err))


def read_all(file):
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def classify_record(record):
    """(class, reason) of one JSON object of `castnet check`; what the first diagnostic says follows a colon, unless the
    model is merely not supported."""
    rows = record.get("diagnostics", [])
    codes = {row.get("code", "") for row in rows}
    ops = sorted({operator_name(row) for row in rows if row.get("code") in UNSUPPORTED} - {""})
    reason = " ".join(sorted(codes) + ops)
    verdict = record.get("verdict")
    if verdict == "pass":
        return PASS, ""
    if verdict == "refused" and codes and codes <= UNSUPPORTED:
        return REFUSED, reason
    telling = next((row for row in rows if row.get("code") not in UNSUPPORTED), {})
    reason += f": {telling.get('text', '')}"[:300] if telling else ""
    if verdict == "refused":
        return MISJUDGED, reason
    if verdict == "differs":
        return DIFFERS, reason
    if verdict == "failed":
        if "E0006" in codes:
            return COMPILER, reason
        return (FAILED if "E0603" in codes else ENVIRONMENT), reason
    return (BUG if verdict == "bug" else PROTOCOL), reason or f"verdict {verdict!r}"


def operator_name(row):
    domain, op = row.get("domain") or "", row.get("op") or ""
    return f"{domain}::{op}" if domain not in ("", "ai.onnx") else op


def classify_outcome(outcome, record):
    """(class, reason) of one finished `castnet check`, whose JSON object is `record` or None."""
    if outcome.timed_out:
        return TIMEOUT, f"over {outcome.seconds:.0f} s"
    if outcome.status == SANITIZER_EXIT or SANITIZER_REPORT.search(outcome.err):
        return SANITIZER, first_match(SANITIZER_REPORT, outcome.err)
    if outcome.status < 0:
        return CRASH, signal.Signals(-outcome.status).name
    if record is None:
        cls = {EXIT_USAGE: ENVIRONMENT, EXIT_ENVIRONMENT: ENVIRONMENT, EXIT_BUG: BUG}.get(outcome.status, PROTOCOL)
        return cls, f"exit {outcome.status}: {outcome.err.strip()[:200]}"
    cls, reason = classify_record(record)
    allowed = {PASS: {EXIT_OK}, REFUSED: {EXIT_REFUSED}, MISJUDGED: {EXIT_REFUSED}, DIFFERS: {EXIT_DIFFERS},
               FAILED: {EXIT_DIFFERS}, COMPILER: {EXIT_ENVIRONMENT, EXIT_BUG}, BUG: {EXIT_BUG}}
    if outcome.status not in allowed.get(cls, {outcome.status}):
        return PROTOCOL, f"exit {outcome.status} with verdict {record.get('verdict')!r}"
    return cls, reason


def first_match(pattern, text):
    return next((line.strip()[:200] for line in text.splitlines() if pattern.search(line)), "")


def json_lines(text):
    """The JSON objects among the lines of a program's output."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            with contextlib.suppress(json.JSONDecodeError):
                found.append(json.loads(line))
    return found


def supports(castnet, command, option):
    """Whether `castnet COMMAND --help` mentions an option."""
    outcome = run([castnet, command, "--help"], timeout=20)
    return re.search(re.escape(option) + r"\b", outcome.out + outcome.err) is not None


def parallel(function, items, jobs, label=""):
    """Results in the order of the items; a line of progress every few seconds."""
    results, shown = [], time.monotonic()
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for done, result in enumerate(pool.map(function, items), 1):
            results.append(result)
            if label and time.monotonic() - shown > 20:
                shown = time.monotonic()
                print(f"  {label}: {done} of {len(items)}", file=sys.stderr, flush=True)
    return results


def table(rows, headings):
    """Print columns, numbers to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(headings), *rows]) for i in range(len(headings))]
    for row in [list(headings), ["-" * w for w in widths], *rows]:
        cells = [cell.rjust(w) if cell.replace(".", "").isdigit() else cell.ljust(w) for cell, w in zip(row, widths)]
        print("  " + "  ".join(cells).rstrip())


def class_table(classes):
    """Print how many cases ended in each class."""
    counts = Counter(classes)
    table([(counts[c], c, text) for c, text in CLASS_TEXT.items() if counts[c]], ("cases", "class", "meaning"))


def add_machine_options(parser):
    """How generated code is built and run: for this machine, or for another one."""
    parser.add_argument("--cc", default="gcc", help="the C compiler for generated code")
    parser.add_argument("--target")
    parser.add_argument("--cflags", help="more flags for the C compiler")
    parser.add_argument("--runner", help="what runs a program of another machine: 'qemu-aarch64 -L /usr/aarch64-linux-gnu'")
    parser.add_argument("--isa", help="the most of the machine's instruction set level that calls may use")
    parser.add_argument("--check", action="append", default=[], metavar="OPTION", help="more for castnet check: --check=--no-fuse")
    parser.add_argument("--skip-missing", action="store_true", help="nothing is wrong where --cc or --runner is not installed")


STRICT = "-Wall -Wextra -Werror"  # of generated C: gcc only warns of a function that returns a value and should not


def machine_options(options):
    """The same for castnet check."""
    words = ["--cc", options.cc, *([] if options.target == "cuda" else [f"--cflags={STRICT}"])]
    for name in ("target", "cflags", "runner", "isa"):
        value = getattr(options, name)
        words += [f"--{name}={value}"] if value else []
    return words + options.check


def is_missing(options):
    """Whether the run is to be skipped, said so."""
    tools = [shlex.split(text)[0] for text in (options.cc, options.runner) if text]
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing and options.skip_missing:
        print(f"skipped, not installed: {' '.join(missing)}")
    return bool(missing) and options.skip_missing


def rerun_line(*extra, without=("--filter", "--update", "--allow-growth")):
    """The command that repeats this run for less: some options dropped, others added."""
    kept, arguments = [], iter(sys.argv[1:])
    for argument in arguments:
        if argument == "--filter" and "--filter" in without:
            next(arguments, None)
        elif argument not in without:
            kept.append(argument)
    return shlex.join([os.path.relpath(sys.argv[0]), *kept, *map(str, extra)])


def totals(passed, failed, skipped=0):
    """The last line of every runner. Returns the exit status."""
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed else 0


def read_list(path):
    """{first column: rest} of a committed tab-separated list; lines that begin with # are comments."""
    rows = {}
    if path.exists():
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                name, _, rest = line.partition("\t")
                rows[name] = rest
    return rows


def castnet_path(text):
    """An argument that names the binary: must exist, becomes absolute."""
    path = Path(text).resolve()
    if not os.access(path, os.X_OK):
        raise SystemExit(f"no castnet at {text} (build it first: ninja -C build)")
    return path
