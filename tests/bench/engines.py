"""The engines of run.py: the command that starts a worker of each (tests/bench/worker.h says how they talk)."""
import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import c_peer

HERE = Path(__file__).resolve().parent
ONE_THREAD = ", 1 thread"  # of castnet, beside a run on several
CONVERTED = ("ncnn", "emx-onnx-cgen", "onnx2c")  # peers whose own conversion may be wrong: where their outputs differ they do not count


class Missing(Exception):
    """An engine that cannot run here, and why."""


# ---- what they need ----
def library(package, pattern):
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise Missing(f"{package} is not installed")
    found = sorted(Path(spec.submodule_search_locations[0]).glob(pattern))
    if not found:
        raise Missing(f"{package} holds no {pattern}")
    return str(found[-1])


def build_worker(name, work):
    program = work / name
    if not program.exists():
        cc = shlex.split(os.environ.get("CC", "cc"))
        done = subprocess.run([*cc, "-O2", str(HERE / f"{name}.c"), "-o", str(program), "-ldl", "-lm"], check=False)
        if done.returncode:
            raise Missing(f"{name}.c does not compile")
    return str(program)


# ---- commands of workers ----
def ort_command(options, case, work, outputs):
    return [build_worker("ort_worker", work), library("onnxruntime", "capi/libonnxruntime.so*"), case.model, options.threads, case.feed, outputs]


def openvino_command(options, case, work, outputs):
    return [build_worker("ov_worker", work), library("openvino", "libs/libopenvino_c.so*"), case.model, options.threads, "f32", case.feed, outputs]


def tl2cgen_command(options, case, work, outputs):
    """Of tree ensembles. Built by the first of castnet's compilers."""
    folder = case.folder / "tl2cgen"
    cc = shlex.split(options.cc.split(",")[0])
    done = subprocess.run([sys.executable, HERE / "tree_peer.py", case.model, folder, *cc], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing((done.stderr.strip().splitlines() or ["no library"])[-1])
    return [build_worker("tl_worker", work), folder / "trees.so", case.feed, outputs]


def ncnn_command(options, case, outputs):
    library("ncnn", "*.so")
    return [sys.executable, HERE / "ncnn_worker.py", library("pnnx", "pnnx"), case.model, case.folder / "ncnn", options.threads, case.feed, outputs]


def c_command(options, case, name, generate, entry, outputs):
    """Of code by another generator: it has one thread, and is built by the first of castnet's compilers for the first target."""
    target = options.target.split(",")[0]
    flags = ["-O3", *([f"-march={target.removesuffix('-vnni')}"] if target.startswith("x86-64") else [])]
    return [c_peer.build(case, case.folder / name, generate, entry, shlex.split(options.cc.split(",")[0]), flags), case.feed, outputs]


def castnet_program(case, cc, target, threads):
    folder = case.folder / f"castnet-{cc}-{target}-{threads}"
    return folder, [folder / "castnet_check", folder / "inputs", "-"]


def castnet_command(options, case, cc, target, outputs, threads):
    folder, program = castnet_program(case, cc, target, threads)
    command = [options.castnet, "bench", case.model, case.data_set, "--target", target, "--cc", cc, "--keep", folder, "--no-run"]
    if options.cflags:
        command += ["--cflags", options.cflags]
    if threads > 1:
        command += ["--threads", threads]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"castnet: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
    return [*program, "outputs", outputs, *(["turns", case.turns] if case.turns else []), "serve"]


def commands(options, case, work, place):
    """{engine: what makes its command}"""
    makers = {"onnxruntime": lambda: ort_command(options, case, work, place("onnxruntime")),
              "openvino": lambda: openvino_command(options, case, work, place("openvino"))}
    if "TreeEnsembleRegressor" in case.ops:
        makers["tl2cgen"] = lambda: tl2cgen_command(options, case, work, place("tl2cgen"))
    else:
        makers["ncnn"] = lambda: ncnn_command(options, case, place("ncnn"))
    if options.c_peers and options.threads == 1:
        makers["emx-onnx-cgen"] = lambda: (library("emx_onnx_cgen", "cli.py"), c_command(options, case, "emx", c_peer.emx, "peer_model", place("emx-onnx-cgen")))[1]
    if options.onnx2c and options.threads == 1:
        makers["onnx2c"] = lambda: c_command(options, case, "onnx2c", c_peer.onnx2c(options.onnx2c), "entry", place("onnx2c"))
    for target in options.target.split(","):
        for cc in options.cc.split(","):
            for threads in dict.fromkeys((options.threads, 1)):
                name = f"castnet {target} {cc}" + (ONE_THREAD if threads < options.threads else "")
                makers[name] = lambda c=cc, t=target, n=name, k=threads: castnet_command(options, case, c, t, place(n), k)
    return makers
