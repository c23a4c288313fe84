#!/usr/bin/env python3
"""The stages of tests/run: builds castnet, runs each stage's commands one after the other, adds up their last lines.

A stage is a row of STAGES. Every command either is `meson test` or ends its output with `N passed, N failed` and
perhaps `, N skipped`; its whole output goes to WORK/logs/STAGE.log, the end of it to the terminal when it fails.
"""
import argparse
import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "lib"))
import harness  # noqa: E402

LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
MESON_LINE = re.compile(r"^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout):\s+(\d+)\s*$", re.M)
TAIL = 80  # lines of a failed command shown
JOBS = min(os.cpu_count() or 1, int(os.environ.get("CASTNET_TEST_JOBS", "2")))

SANITIZED = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
BUILDS = {  # name: options of meson setup, environment, what to build (empty: all)
    "plain": ([], {}, []),
    "sanitize": (SANITIZED, {}, ["compiler/castnet", "tests/mutate"]),  # without the kernels' tests, which take minutes to build so
    "sanitize_all": (SANITIZED, {}, []),
    "clang": ([], {"CC": "clang"}, []),
    "gcc_O0": (["-Doptimization=0", "--werror"], {"CC": "gcc"}, ["compiler/castnet"]),
    "clang_O3": (["-Doptimization=3", "--werror"], {"CC": "clang"}, ["compiler/castnet"]),
}


TREE_COUNTS = {"trees": 60, "trees_many": 1000}
RANDOM_COUNTS = {"random": 300, "random_many": 10000}
MUTANT_COUNTS = {"mutants": 60, "mutants_many": 2000}


@dataclasses.dataclass
class Stage:
    """Command lines: {plain}, {sanitize}, {clang} are binaries of castnet, {plain:NAME} … other programs of that build,
    {plain_build} … their folders, {cases} and {corpus} generated data, {models} the recorded models if there are any.
    What a command names is prepared before it runs."""
    name: str
    what: str
    quick: list  # empty: the full form only
    full: list = dataclasses.field(default_factory=list)  # in the full form instead of `quick`; empty: the same


def meson(build, suite):
    return f"meson test -C {{{build}_build}} --no-rebuild --suite {suite} --timeout-multiplier 10 --print-errorlogs"


def conformance(cc, target, timeout=300):
    return f"{{python}} tests/conformance/run.py --castnet {{plain}} --cases {{cases}} --cc {cc} --target {target} --timeout {timeout}"


def random_graphs(cases, options=""):
    return f"{{python}} tests/conformance/run.py --castnet {{plain}} --cases {{{cases}}} --expected tests/random/expected_failures.txt {options}"


BUILDS_AGREE = "{python} tests/repro/builds.py --castnet {gcc_O0} --castnet {clang_O3} --cases {cases} --models={models}"
CROSS = ("aarch64", "s390x")
CROSS_MODELS = ("micro_kws_fp32", "micro_kws_qop", "mnist_atmega", "mnist_cntk", "byte_bilstm", "xgb_classifier", "policy_go1",
                "dtln_1", "tinyvit_demo", "magika_v3_3", "bert_toy", "yunet_s_320")
BLOCKED_MODELS = ("squeezenet_fp16", "style_candy_freedim", "yunet_s_320", "person_det_rpi", "sinet_seg", "osf_*")  # chains of convolutions, one with open sizes


def trees(cases, options):
    return f"{{python}} tests/conformance/run.py --castnet {{plain}} --cases {{{cases}}} {options}"


def on_machine(target):
    return f"--target {target} --cc {target}-linux-gnu-gcc --cflags=-static --runner qemu-{target} --skip-missing"


def cross_conformance(target, *options):
    return " ".join(["{python} tests/conformance/run.py --castnet {plain} --cases {cases}", on_machine(target), *options])


def cross_models(target, names):
    filters = " ".join(f"--filter {name}" for name in names)
    return f"{{python}} tests/models/run.py --castnet {{plain}} {on_machine(target)} --run-timeout 900 {filters}"


def at_level(isa, options):
    return f"{{python}} tests/conformance/run.py --castnet {{plain}} --cases {{cases}} --target x86-64 --isa {isa} {options}"


def level_models(isa, names):
    return f"{{python}} tests/models/run.py --castnet {{plain}} --target x86-64 --isa {isa} " + " ".join(f"--filter {name}" for name in names)


def variant(name):
    return f"{{python}} tests/conformance/run.py --castnet {{plain}} --cases {{{name}}} {VARIANTS[name][1]}"


def hostile(binary, *options):
    return " ".join([f"{{python}} tests/hostile/run.py --castnet {{{binary}}} --corpus {{corpus}}", *options])


CUDA_MODELS = ("{python} tests/models/run.py --castnet {plain} --target cuda --cc tests/cuda/emulated_nvcc --run-timeout 600 "
               "--must-pass tests/cuda/must_pass.txt")
CUDA_CASES = "{python} tests/conformance/run.py --castnet {plain} --cases {cases} --target cuda --partial --cc tests/cuda/emulated_nvcc"
VARIANTS = {  # of the suite's cases: how many of them in the quick form (every N-th), and options
    "open": (12, "--expected tests/conformance/open_expected.txt"),
    "wrong_outputs": (30, "--check=--ignore-output-shapes"),
    "constants": (20, ""),
    "first_constant": (20, ""),
    "rest_constant": (20, ""),
}
TYPES = "{python} tests/conformance/run.py --castnet {plain} --expected tests/types/expected_failures.txt --target c99 --cflags=-O0"
LIMITS = "{python} tests/control/limits.py --castnet {plain}"
NUMBERS = "{python} tests/conformance/run.py --castnet {plain} --cases {numbers} --timeout 300"
CONTROL = "{python} tests/conformance/run.py --cases {control} --expected tests/control/expected_failures.txt"
MUTANTS = "{python} tests/conformance/run.py --castnet {plain} --expected tests/control/expected_failures.txt"
MODELS = "{python} tests/models/run.py --castnet {plain}"
SHAPES = "{python} tests/conformance/run.py --castnet {sanitize} --cases {shapes} --any-verdict --sanitize --cflags=-O0 --timeout 300"
REPORTS = "{python} tests/cli/reports.py --castnet {sanitize} --cases {cases} --models={models}"
POISON = "{python} tests/conformance/run.py --castnet {plain} --check=--poison"
CONTRACT_WIDE = "{python} tests/contract/run.py --castnet {plain} --cases {cases} --target x86-64-v4,x86-64-v4-vnni,x86-64-v4-amx"


STAGES = [
    Stage("unit", "the compiler's stages, one by one",
          [meson("plain", "unit")],
          [meson("plain", "unit"), meson("clang", "unit"), meson("sanitize_all", "unit")]),
    Stage("frontend", "the ONNX reader: against Google's protobuf, field by field; on damaged files",
          ["{python} tests/frontend/compare.py {plain:dump_model} {cases} {models}",
           "{python} tests/frontend/damage.py {sanitize:mutate} {cases} --count 20000"],
          ["{python} tests/frontend/compare.py {plain:dump_model} {cases} {models}",
           "{python} tests/frontend/damage.py {sanitize:mutate} {cases} --count 2000000"]),
    Stage("passes", "passes on graphs in text form; graphs of models and cases printed and read back",
          ["{python} tests/passes/run.py --pass-text {plain:pass_text} --castnet {plain} --cases {cases} --every 8 --models={models}"],
          ["{python} tests/passes/run.py --pass-text {plain:pass_text} --castnet {plain} --cases {cases} --models={models}"]),
    Stage("kernels", "each row of the kernel table against the scalar reference",
          [meson("plain", "kernels")],
          [meson("plain", "kernels"), meson("plain", "kernels_full"), meson("clang", "kernels"), meson("sanitize_all", "kernels")]),
    Stage("accuracy", "scalar functions against MPFR: f32 at a sample of arguments, in the full form at all 2^32",
          ["{python} tests/accuracy/run.py {plain:accuracy}"],
          ["{python} tests/accuracy/run.py {plain:accuracy} --exhaustive"]),
    Stage("planner", "placement of hard instances within their capacities, when there are any",
          ["{plain:place_csv} ../shared/planner"]),
    Stage("backend", "the frame of generated code: compiles without a warning, no mixed or torn sets, dimensions called anything",
          [meson("plain", "backend"), "{python} tests/backend/dimensions.py --castnet {plain}"]),
    Stage("runners", "the test runners themselves, with a stand-in for castnet",
          ["{python} tests/lib/selftest.py"]),
    Stage("docs", "documents: paths exist, commands run, tables are current",
          ["{python} tests/docs/check.py --castnet {plain}"]),
    Stage("golden", "generated code and diagnostics as committed",
          ["{python} tests/golden/run.py --castnet {plain}"]),
    Stage("conformance", "the ONNX backend suite through generated code",
          ["{python} tests/conformance/run.py --castnet {plain} --cases {cases} --results {work}/conformance.json",
           "{python} tests/conformance/properties.py --castnet {plain} --cases {cases}"],
          ["{python} tests/conformance/properties.py --castnet {plain} --cases {cases}"] + [conformance(cc, target)
           for cc in ("gcc", "clang") for target in ("c99", "x86-64-v3")] + [conformance("gcc", "x86-64-v3", 1200) + " --check=--no-fuse"]),
    Stage("variants", "the suite with every size of every input left open, with outputs declared wrongly, with inputs as constants",
          [f"{variant(name)} --every {every}" for name, (every, _) in VARIANTS.items()], [variant(name) for name in VARIANTS]),
    Stage("strings", "strings, labels, maps through generated code, against Python's",
          ["{python} tests/strings/run.py --castnet {plain} --sanitize"]),
    Stage("control", "loops and branches in forms that the suite lacks, and mutants of those that it has; all calls of one compiled model each; what bounds hostile data",
          [f"{CONTROL} --castnet {{plain}}", f"{MUTANTS} --cases {{mutants}}", LIMITS],
          [f"{CONTROL} --castnet {{plain}} --target {target}" for target in ("c99", "x86-64-v3")] + [f"{CONTROL} --castnet {{sanitize}} --sanitize --timeout 300"] +
          [f"{MUTANTS} --cases {{mutants_many}} {how}".strip() for how in ("", "--cc clang --check=--no-fuse", "--check=--no-reuse")] + [LIMITS]),
    Stage("sequences", "sequences and optionals through generated code, random programs too, against Python's lists",
          ["{python} tests/sequences/run.py --castnet {plain}"],
          ["{python} tests/sequences/run.py --castnet {plain} --count 400", "{python} tests/sequences/run.py --castnet {plain} --count 100 --sanitize"]),
    Stage("versions", "every version of every operator, where the suite has no case",
          ["{python} tests/conformance/run.py --castnet {plain} --cases {versions} --expected tests/versions/expected_failures.txt",
           "{python} tests/versions/coverage.py --versions {versions}"]),
    Stage("types", "every type that the schemas allow an operator, at its newest version; in the full form at all versions where that differs",
          [f"{TYPES} --cases {{types}}/batched --every 2", f"{TYPES} --cases {{types}}/recurrent", "{python} tests/types/coverage.py --types {types} --newest"],
          [f"{TYPES} --cases {{types_all}}/batched", f"{TYPES} --cases {{types_all}}/batched --every 6 --check=--no-fuse",
           f"{TYPES} --cases {{types_all}}/recurrent", f"{TYPES} --cases {{types_all}}/recurrent --check=--no-fuse",
           "{python} tests/types/coverage.py --types {types_all}"]),
    Stage("numbers", "the rules of docs/NUMERICS.md, each for every operator that it is about: extremes, NaN, zeros, ties, conversions of all types",
          [NUMBERS + " --every 2", NUMBERS + " --target x86-64-v3 --cc clang --every 2 --offset 1"],
          [NUMBERS, NUMBERS + " --target x86-64-v3 --cc clang", NUMBERS + " --check=--no-fuse --cflags=-O0", NUMBERS + " --target x86-64-v3 --check=--no-reuse --cflags=-O0"]),
    Stage("random", "random graphs against ONNX Runtime: fused and not, memory reused and not",
          [random_graphs("random", "--every 2"), random_graphs("random", "--target x86-64-v3 --every 2 --offset 1"), random_graphs("random", "--target x86-64-v3 --filter 'kept/*'"),
           random_graphs("random", "--every 5 --check=--no-fuse"), random_graphs("random", "--target x86-64-v3 --every 5 --offset 1 --check=--no-reuse")],
          [random_graphs("random_many", f"--cc {cc} {how}".strip())  # by both compilers as users build; plans and fusion need no optimiser to show
           for cc, how in (("gcc", ""), ("clang", "--target x86-64-v3"), ("gcc", "--target x86-64-v3 --check=--no-reuse --cflags=-O0"), ("gcc", "--check=--no-fuse --cflags=-O0"),
                           ("clang", "--check=--no-fuse --check=--no-reuse --cflags=-O0"))]),
    Stage("contrib", "operators of com.microsoft against ONNX Runtime",
          ["{python} tests/contrib/run.py --castnet {plain}", "{python} tests/contrib/run.py --castnet {plain} --target x86-64-v3"]),
    Stage("gradient", "gradients against differences of the reference evaluation",
          ["{python} tests/gradient/run.py --castnet {plain}"]),
    Stage("estimators", "ai.onnx.ml: estimators of scikit-learn, XGBoost, LightGBM against the libraries (full form only)", [],
          ["{python} tests/conformance/run.py --castnet {plain} --cases {estimators} --expected tests/ml/expected_failures.txt"]),
    Stage("trees", "tree ensembles of all shapes: the same bits on every target, those of a walk node by node",
          [trees("trees", "--target c99 --every 3"), trees("trees", "--target x86-64-v3"), trees("trees", "--target x86-64 --every 6")],
          [trees("trees_many", f"--target {target}") for target in ("c99", "x86-64-v3", "x86-64")] +
          ["{python} tests/conformance/run.py --castnet {sanitize} --cases {trees} --target x86-64-v3 --sanitize"]),
    Stage("models", "real models with recorded outputs",
          ["{python} tests/models/run.py --castnet {plain} --results {work}/models.json", "{python} tests/models/reject.py --castnet {plain}",
           "{python} tests/models/run.py --castnet {plain} --target x86-64-v3 " + " ".join(f"--filter {name}" for name in BLOCKED_MODELS)],
          [*(f"{{python}} tests/models/run.py --castnet {{plain}} --cc {cc} --target {target}" for cc in ("gcc", "clang") for target in ("c99", "x86-64-v3")),
           "{python} tests/models/reject.py --castnet {plain}"]),
    Stage("machines", "other machines under qemu: AArch64 and big-endian s390x",
          [cross_conformance(target, "--every 24 --timeout 300") for target in CROSS] +
          [cross_models(target, CROSS_MODELS[:6]) for target in CROSS],
          [cross_conformance(target, "--timeout 1800") for target in CROSS] +
          [cross_models(target, CROSS_MODELS) for target in CROSS]),
    Stage("threads", "steps in shares: the same bits for any threads and order; ThreadSanitizer",
          ["{python} tests/threads/run.py --castnet {plain} --cases {cases} --models={models}",
           "{python} tests/threads/run.py --castnet {plain} --cases {cases} --models={models} --target x86-64-v3 --filter 'for vectors'"],
          ["{python} tests/threads/run.py --castnet {plain} --cases {cases} --models={models}",
           "{python} tests/threads/run.py --castnet {plain} --cases {cases} --models={models} --target x86-64-v3"]),
    Stage("levels", "target x86-64: every level that this machine has, picked by castnet_env.isa",
          [at_level(1, "--every 120"), at_level(3, "--every 120 --offset 40 --cc clang"), at_level(5, "--every 120 --offset 80"),
           *(level_models(isa, CROSS_MODELS[1:4]) for isa in (1, 3, 5)),
           "{python} tests/contract/run.py --castnet {plain} --cases {cases} --target x86-64 --filter *conv* --filter *lstm* --filter *loop* --every 24"],
          [at_level(isa, f"--cc {cc}") for isa in (1, 3, 4, 5) for cc in ("gcc", "clang")] + [level_models(isa, CROSS_MODELS) for isa in (1, 3, 4, 5)]),
    Stage("poison", "the workspace overwritten between steps, but for what a later step reads: a shard of the suite, control flow, real models",
          [f"{POISON} --cases {{cases}} --every 10 --offset 5", f"{CONTROL} --castnet {{plain}} --check=--poison",
           f"{MUTANTS} --cases {{mutants}} --every 2 --check=--poison", f"{MODELS} --target x86-64-v3 --check=--poison " + " ".join(f"--filter {name}" for name in CROSS_MODELS[:6])],
          [*(f"{POISON} --cases {{cases}} --target {target}" for target in ("c99", "x86-64-v3")), f"{POISON} --cases {{cases}} --every 4 --check=--no-fuse --timeout 1200",
           f"{POISON} --cases {{cases}} --every 4 --target x86-64-v3 --check=--threads=all", f"{CONTROL} --castnet {{plain}} --check=--poison",
           f"{MUTANTS} --cases {{mutants_many}} --every 4 --check=--poison", random_graphs("random_many", "--every 10 --check=--poison"),
           *(f"{MODELS} --target {target} --check=--poison" for target in ("c99", "x86-64-v3"))]),
    Stage("bench", "the benchmark in a quick form, for what its engines agree on: nothing is judged by its time",
          [f"{{python}} tests/bench/run.py --castnet {{plain}} --quick --target x86-64-v3 --models {{work}}/bench-models {how} --json {{work}}/bench.json --svg {{work}}/bench.svg"
           for how in ("mlp lenet5 resnet8_cifar resnet8_cifar_f16 kws_dscnn_f16", "--threads 2 kws_dscnn")] +
          ["{python} tests/bench/as_if.py --castnet {plain} --quick --target x86-64-v3 --cc gcc --models {work}/bench-models resnet8_cifar"]),
    Stage("weights", "the forms of weights: placement, replacement at run time, 100 MB in seconds",
          ["{python} tests/weights/run.py --castnet {plain}"]),
    Stage("firmware", "a microcontroller without an operating system, played by qemu: results, symbols, stack",
          ["{python} tests/firmware/run.py --castnet {plain} --cases {cases} --models={models}"]),
    Stage("cuda", "target cuda: compiled by nvcc where there is one, run on an emulated GPU",
          ["{python} tests/cuda/run.py --castnet {plain}",
           "{python} tests/cuda/compile.py --castnet {plain} --filter mnist_cntk --filter micro_kws_qop --filter magika_v3_3",
           f"{CUDA_MODELS} --filter m*", f"{CUDA_CASES} --every 60 --timeout 600"],
          ["{python} tests/cuda/run.py --castnet {plain}", "{python} tests/cuda/compile.py --castnet {plain}", CUDA_MODELS, f"{CUDA_CASES} --every 10 --timeout 900"]),
    Stage("hostile", "hostile and odd files: verdicts, memory, time",
          [hostile("plain")]),
    Stage("sanitize", "a shard of the suite and of the hostile files under ASan and UBSan; reports on models",
          ["{python} tests/conformance/run.py --castnet {sanitize} --cases {cases} --sanitize --every 16",
           hostile("sanitize", "--sanitize", "--every 3"), REPORTS + " --every 60"],
          ["{python} tests/conformance/run.py --castnet {sanitize} --cases {cases} --sanitize --timeout 1200",
           hostile("sanitize", "--sanitize"), REPORTS + " --every 4", REPORTS + " --every 16 --target x86-64"]),
    Stage("shapes", "single operators with an axis too long, too short or empty: refused, an error code or a result, and no memory but their own",
          [SHAPES + " --every 40"], [SHAPES, SHAPES + " --every 8 --offset 3 --target x86-64-v3"]),
    Stage("fuzz", "fresh mutations of valid models",
          ["{python} tests/hostile/fuzz.py --castnet {sanitize} --cases {cases} --seconds 60"],
          ["{python} tests/hostile/fuzz.py --castnet {sanitize} --cases {cases} --seconds 1800"]),
    Stage("contract", "what users of generated C are promised: warnings, symbols, static data, stack, header",
          ["{python} tests/contract/run.py --castnet {plain} --cases {cases} --every 60",
           CONTRACT_WIDE + " --filter *conv* --filter *pool* --filter *lstm* --filter *candy* --every 24"],
          ["{python} tests/contract/run.py --castnet {plain} --cases {cases}", CONTRACT_WIDE]),
    Stage("figures", "what compiling costs: castnet's time and memory, compilers' time and .text, workspaces of blocked channels, within bounds",
          ["{python} tests/figures/run.py --castnet {plain}", "{python} tests/figures/arena.py --castnet {plain}"]),
    Stage("cli", "the command line as people use it: exit codes, messages, depfiles, kept builds, interruption",
          ["{python} tests/cli/run.py --castnet {plain}"],
          [f"{{python}} tests/cli/run.py --castnet {{plain}} --cc {cc}" for cc in ("gcc", "clang")]),
    Stage("files", "interrupted writes leave the old set, the new set, or nothing that builds",
          ["{python} tests/files/run.py --castnet {plain}"]),
    Stage("repro", "the same bytes whatever the folder, locale, time zone, path, compiler and machine",
          ["{python} tests/repro/run.py --castnet {plain} --cases {cases} --every 16", f"{BUILDS_AGREE} --every 8"],
          ["{python} tests/repro/run.py --castnet {plain} --cases {cases}",
           f"{BUILDS_AGREE} --machine s390x --work {{work}}/s390x"]),
]


class Workshop:
    """Builds and generated data, each made once, when first named."""

    def __init__(self, work):
        self.work = work
        self.ready = {}

    def value(self, name):
        if name not in self.ready:
            self.ready[name] = self.make(name)
        return self.ready[name]

    def make(self, name):
        if name == "python":
            return sys.executable
        if name == "work":
            return self.work
        if name == "cases":
            return self.data("cases", "tests/conformance/make_cases.py")
        if name == "control":
            return self.data("control", "tests/control/make_control_cases.py")
        if name == "numbers":
            return self.data("numbers", "tests/numbers/make_number_cases.py")
        if name in VARIANTS:
            return self.data(name, "tests/conformance/make_variants.py", "--form", name, "--cases", self.value("cases"))
        if name == "versions":
            return self.data("versions", "tests/versions/make_version_cases.py", "--cases", self.value("cases"))
        if name in ("types", "types_all"):
            return self.data(name, "tests/types/make_type_cases.py", "--cases", self.value("cases"), "--versions", self.value("versions"),
                             *(["--newest"] if name == "types" else []))
        if name == "estimators":
            return self.estimators()
        if name in TREE_COUNTS:
            return self.data(name, "tests/trees/make_tree_cases.py", "--count", str(TREE_COUNTS[name]))
        if name in RANDOM_COUNTS:
            return self.data(name, "tests/random/make_random.py", "--count", str(RANDOM_COUNTS[name]))
        if name in MUTANT_COUNTS:
            return self.data(name, "tests/control/make_mutants.py", "--cases", self.value("cases"), "--count", str(MUTANT_COUNTS[name]))
        if name == "shapes":
            return self.data("shapes", "tests/hostile/make_shapes.py", "--cases", self.value("cases"))
        if name == "corpus":
            return self.data("corpus", "tests/hostile/make_corpus.py", "--seed", "1", "--cases", self.value("cases"))
        if name == "models":
            models = ROOT.parent / "shared" / "models"
            return models if models.exists() else ""
        if name.endswith("_build"):
            return self.build(name.removesuffix("_build"))
        build, _, program = name.partition(":")
        return self.program(build, program or "castnet")

    def estimators(self):
        """Made in a Python environment of its own: the libraries are large, and only this wants them."""
        venv = self.work / "ml-venv"
        stamp, wanted = venv / "installed", (ROOT / "tests/ml/requirements.txt").read_text()
        if not stamp.exists() or stamp.read_text() != wanted:
            self.tool([sys.executable, "-m", "venv", "--clear", venv])
            self.tool([venv / "bin/pip", "install", "--quiet", "-r", "tests/requirements.txt", "-r", "tests/ml/requirements.txt"])
            stamp.write_text(wanted)
        return self.data("estimators", "tests/ml/make_estimators.py", python=venv / "bin/python")

    def data(self, name, script, *arguments, python=sys.executable):
        """A folder made by a script; made again only when the scripts beside it or the package versions change."""
        folder = self.work / name
        sources = [*sorted((ROOT / script).parent.rglob("*.py")), ROOT / "tests/requirements.txt"]
        stamp = "".join(p.read_text() for p in sources)
        made = folder.with_suffix(".stamp")
        if not made.exists() or made.read_text() != stamp:
            print(f"making {folder.relative_to(ROOT)}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            self.tool([python, script, "-o", folder, *arguments])
            made.write_text(stamp)
        return folder

    def build(self, name):
        folder = self.work / name
        options, extra, targets = BUILDS[name]
        print(f"building {folder.relative_to(ROOT)}", flush=True)
        if not (folder / "build.ninja").exists():
            shutil.rmtree(folder, ignore_errors=True)
            self.tool(["meson", "setup", folder, *options], extra)
        self.tool(["ninja", "-C", folder, "-j", str(JOBS), *targets], extra)
        return folder

    def program(self, build, name):
        folder = self.value(f"{build}_build")
        listing = subprocess.run(["meson", "introspect", "--targets", folder], check=True, capture_output=True, text=True)
        for target in json.loads(listing.stdout):
            if target["name"] == name and target["type"] == "executable":
                return target["filename"][0]
        raise SystemExit(f"meson.build makes no executable named {name}")

    def tool(self, command, extra=None):
        """A preparation: silent unless it fails, and then nothing can go on."""
        command = [str(c) for c in command]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **(extra or {})}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            print("\n".join(done.stdout.splitlines()[-TAIL:]))
            raise SystemExit(f"preparation failed: {shlex.join(command)}")


def counts_of(output, status):
    """(passed, failed, skipped) from what a command printed. A command that says nothing usable has failed once."""
    lines = output.strip().splitlines()
    match = LAST_LINE.match(lines[-1].strip()) if lines else None
    if match:
        passed, failed, skipped = (int(n or 0) for n in match.groups())
        return passed, max(failed, 1 if status else 0), skipped
    meson_counts = {key: int(n) for key, n in MESON_LINE.findall(output)}
    if meson_counts:
        failed = sum(meson_counts.get(key, 0) for key in ("Fail", "Unexpected Pass", "Timeout"))
        return meson_counts.get("Ok", 0), max(failed, 1 if status else 0), meson_counts.get("Skipped", 0)
    return 0, 1, 0


def run_command(template, workshop, log):
    line = re.sub(r"\{([\w:]+)\}", lambda match: str(workshop.value(match[1])), template).strip()
    print(f"  {line.replace(str(ROOT) + '/', '')}", flush=True)
    done = subprocess.run(shlex.split(line), cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace")
    log.write(f"$ {line}\n{done.stdout}\n")
    passed, failed, skipped = counts_of(done.stdout, done.returncode)
    if failed:
        print("\n".join("    " + text for text in done.stdout.splitlines()[-TAIL:]))
        print(f"  exit {done.returncode}; again: {line.replace(str(ROOT) + '/', '')}", flush=True)
    return passed, failed, skipped


def run_stage(stage, full, workshop):
    print(f"== {stage.name}: {stage.what}", flush=True)
    begin = time.monotonic()
    logs = workshop.work / "logs"
    logs.mkdir(exist_ok=True)
    with (logs / f"{stage.name}.log").open("w") as log:
        rows = [run_command(t, workshop, log) for t in (full and stage.full or stage.quick)]
    passed, failed, skipped = (sum(column) for column in zip((0, 0, 0), *rows))
    seconds = time.monotonic() - begin
    print(f"   {passed} passed, {failed} failed, {skipped} skipped, {seconds:.0f} s", flush=True)
    return [stage.name, passed, failed, skipped, f"{seconds:.0f}", "" if not failed else f"tests/run {stage.name}"]


def main():
    parser = argparse.ArgumentParser(prog="tests/run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", help="only these (default: all)")
    parser.add_argument("--full", action="store_true", help="everything, for a release")
    parser.add_argument("--list", action="store_true", help="name the stages")
    parser.add_argument("--work", type=Path, default=ROOT / "build-test", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        harness.table([(s.name, s.what) for s in STAGES], ("stage", "what"))
        return 0
    unknown = set(options.stages) - {s.name for s in STAGES}
    if unknown:
        parser.error(f"no such stage: {' '.join(sorted(unknown))}; tests/run --list names them")
    workshop = Workshop((ROOT / options.work).resolve())
    chosen = [s for s in STAGES if not options.stages or s.name in options.stages]
    rows = [run_stage(stage, options.full, workshop) for stage in chosen]
    print("== summary")
    harness.table(rows, ("stage", "passed", "failed", "skipped", "seconds", "again"))
    return harness.totals(*(sum(row[i] for row in rows) for i in (1, 2, 3)))


if __name__ == "__main__":
    sys.exit(main())
