#!/usr/bin/env python3
"""Build models for a microcontroller without an operating system, and run them on one that qemu-system-arm plays.

  run.py --castnet build/compiler/castnet [--models DIR] [--cases DIR]

Target cortex-m4 on Arm's MPS2 board AN386: startup code and linker script are here, no C library is linked. Each model has to
give its recorded outputs; its object wants nothing but mem* and the compiler's own __aeabi_*; it has no writable data; and the
stack that it uses stays under what `castnet inspect` says, and that under the sum of all frames (none recurses).
"""
import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

MODELS = ("micro_kws_fp32", "mnist_atmega", "micro_kws_qop", "mnist_cntk")
CASES = ("node/test_conv_with_strides_padding", "node/test_softmax_axis_1", "node/test_lstm_defaults",
         "node/test_qlinearmatmul_2D_uint8_float32")
CC, QEMU = "arm-none-eabi-gcc", "qemu-system-arm"
ALLOWED = re.compile(r"mem(cpy|move|set|cmp)|__aeabi_\w+|model_weights_[0-9a-f]{16}")
STACK_LIMIT = 4096  # bytes
LIBRARY_STACK = 32  # of memcpy, __aeabi_ldivmod and the like, which no call graph of the model knows


class Failed(Exception):
    """What is wrong with one model."""


def tool(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{shlex.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def target_flags(castnet):
    for line in tool(castnet, "targets").splitlines():
        if line.split()[0] == "cortex-m4":
            return line.split()[1:]
    raise SystemExit("castnet has no target cortex-m4")


def array(name, values, const):
    """A C array of a tensor's bytes, aligned for its elements."""
    text = ",".join(str(b) for b in np.ascontiguousarray(values).tobytes()) or "0"
    return (f"static {const}struct {{ double align; unsigned char bytes[{max(values.nbytes, 1)}]; }} {name} = "
            f"{{0, {{{text}}}}};\n")


def write_case(folder, data_set, atol, rtol):
    inputs = [numpy_helper.to_array(onnx.load_tensor(p)) for p in sorted(data_set.glob("input_*.pb"))]
    outputs = [numpy_helper.to_array(onnx.load_tensor(p)) for p in sorted(data_set.glob("output_*.pb"))]
    text = '#include "model.h"\n\n'
    rows = []
    for i, values in enumerate(inputs):
        text += array(f"in{i}", values, "const ")
    for i, values in enumerate(outputs):
        text += array(f"want{i}", values, "const ") + array(f"out{i}", np.zeros_like(values), "")
        size = 0 if values.dtype == np.float32 else values.dtype.itemsize
        rows.append(f"{{out{i}.bytes, want{i}.bytes, {values.size}, {size}}}")
    text += f"#define MODEL_INPUTS {{{', '.join(f'(const void *)in{i}.bytes' for i in range(len(inputs)))}}}\n"
    text += f"#define MODEL_OUTPUTS {{{', '.join(f'(void *)out{i}.bytes' for i in range(len(outputs)))}, 0}}\n"
    text += f"#define OUTPUTS {', '.join(rows)}\n#define ATOL {atol:.9g}f\n#define RTOL {rtol:.9g}f\n"
    (folder / "case.h").write_text(text)


def stack_bound(usage):
    """The sum of all frames. A frame of changing size would have no bound."""
    rows = [line.split("\t") for line in usage.read_text().splitlines()]
    for name, _, kind in rows:
        if kind != "static":
            raise Failed(f"a stack frame without a bound: {name} ({kind})")
    return sum(int(size) for _, size, _ in rows)


def inspected_bound(castnet, model):
    """What `castnet inspect` says that a call takes: the deepest path of the call graph."""
    told = json.loads(tool(castnet, "inspect", model, "--target", "cortex-m4", "--cc", CC, "--cflags",
                           f"-isystem {ROOT / 'tests/backend/freestanding'}", "--json"))
    return told["stack"]


def check_object(path):
    """Nothing undefined but what is allowed; nothing writable. Return the bytes of code."""
    for line in tool("arm-none-eabi-nm", "-u", path).splitlines():
        symbol = line.split()[-1]
        if not ALLOWED.fullmatch(symbol):
            raise Failed(f"{path.name} wants {symbol}")
    text, data, bss = (int(n) for n in tool("arm-none-eabi-size", path).splitlines()[1].split()[:3])
    if data or bss:
        raise Failed(f"{path.name} has {data} bytes of .data and {bss} of .bss")
    return text


def build(castnet, flags, model, folder):
    """Compile and link; return (bytes of code, of constants, stack bound)."""
    tool(castnet, "compile", model, "-o", folder, "--name", "model", "--target", "cortex-m4", "--weights=c")
    common = [CC, *flags, "-isystem", ROOT / "tests/backend/freestanding"]
    strict = [*common, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    tool(*strict, "-fstack-usage", "-c", folder / "model.c", "-o", folder / "model.o")
    tool(*strict, "-c", folder / "model_weights.c", "-o", folder / "weights.o")
    own = [*common, "-std=gnu11", "-fno-builtin", "-fno-tree-loop-distribute-patterns", "-I", folder]
    objects = [folder / "model.o", folder / "weights.o"]
    for source in ("startup.c", "main.c"):
        objects.append(folder / f"{source}.o")
        tool(*own, "-c", HERE / source, "-o", objects[-1])
    machine = [f for f in flags if f.startswith("-m")]
    tool(CC, *machine, "-nostdlib", "-T", HERE / "mps2-an386.ld", *objects, "-lgcc", "-o", folder / "firmware.elf")
    return check_object(folder / "model.o"), check_object(folder / "weights.o"), stack_bound(folder / "model.su")


def play(folder):
    """Run the firmware; return what it printed as {word: number}."""
    command = [QEMU, "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none", "-icount", "shift=0",
               "-semihosting-config", "enable=on,target=native", "-kernel", folder / "firmware.elf"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    printed = done.stdout + done.stderr
    if done.returncode or "agrees" not in printed:
        raise Failed(f"exit {done.returncode}: {printed.strip()[-400:]}")
    return {word: int(n) for word, n in re.findall(r"^(\w+) (\d+)$", printed, re.M)}


def check(castnet, flags, name, model, atol, rtol):
    """One line of the table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_case(folder, sorted(model.parent.glob("test_data_set_*"))[0], atol, rtol)
        text, constants, bound = build(castnet, flags, model, folder)
        header = (folder / "model.h").read_text()
        workspace = re.search(r"#define model_WORKSPACE_SIZE (\d+)", header)[1]
        seen = play(folder)
    inspected = inspected_bound(castnet, model)
    if not (seen["stack"] <= inspected + LIBRARY_STACK and inspected <= bound <= STACK_LIMIT):
        raise Failed(f"{seen['stack']} bytes of stack used, inspect says {inspected}, all frames are {bound}, limit {STACK_LIMIT}")
    return [name, text, constants, workspace, seen["stack"], inspected, bound, seen["instructions"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--models", default=ROOT.parent / "shared" / "models")
    parser.add_argument("--cases", type=Path)
    options = parser.parse_args()
    missing = [t for t in (CC, QEMU) if not shutil.which(t)]
    if missing:
        print(f"skipped, not installed: {' '.join(missing)}")
        return harness.totals(0, 0, 1)
    castnet = harness.castnet_path(options.castnet)
    flags = target_flags(castnet)
    chosen = [(name, Path(options.models) / name / "model.onnx", 1e-4, 1e-3) for name in MODELS]
    if options.cases:
        chosen += [(name, options.cases / name / "model.onnx", 1e-5, 1e-3) for name in CASES]
    rows, failed, skipped = [], 0, 0
    for name, model, atol, rtol in chosen:
        if not model.exists():
            skipped += 1
            continue
        try:
            rows.append(check(castnet, flags, name, model.resolve(), atol, rtol))
        except Failed as why:
            failed += 1
            print(f"FAIL {name}: {why}")
    harness.table(rows, ("model", ".text", "constants", "workspace", "stack", "inspect", "all frames", "instructions"))
    return harness.totals(len(rows), failed, skipped)


if __name__ == "__main__":
    sys.exit(main())
