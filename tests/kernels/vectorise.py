"""Loops over the scalar functions become vector code, in GCC and in clang, with their default rules on exceptions and errno.

usage: vectorise.py SOURCE_ROOT

Compiles one loop a function for AVX2 and looks at its assembly: it must use 256-bit registers and call nothing. (Functions that look up tables have
vectors of their own: kernels/lanes_f32.h.)
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

FUNCTIONS = ("exp expm1 log log1p sigmoid silu silu_product softplus erf mish sin cos tan sqrt rsqrt reciprocal abs neg sign "
             "floor ceil round trunc sinh cosh asinh acosh atanh asin acos atan erfc").split()
TWO = "add sub mul div min max pow copysign".split()
CASTS = {"s8": "int8_t", "u8": "uint8_t", "s16": "int16_t", "s32": "int32_t", "f16": "uint16_t", "bf16": "uint16_t",
         "f8e4m3fn": "uint8_t", "f8e5m2": "uint8_t"}
FLAGS = "-std=c99 -O2 -mavx2 -mfma -ffp-contract=off -S -o - -x c -".split()
N = 4096


def loop(name, arguments, body, result="float"):
    return f"void {name}({result} *restrict o, {arguments}) {{ for (int i = 0; i < {N}; i++) o[i] = {body}; }}\n"


def source():
    one, two = "const float *restrict a", "const float *restrict a, const float *restrict b"
    text = '#include "scalar_all.h"\n'
    text += "".join(loop(f"loop_{f}", one, f"cn_{f}_f32(a[i])") for f in FUNCTIONS)
    text += "".join(loop(f"loop_{f}", two, f"cn_{f}_f32(a[i], b[i])") for f in TWO)
    # compilers inline what is called once, whatever its size; generated code calls it again for what is left of a row
    text += "".join(f"float once_more_{f}(float a) {{ return cn_{f}_f32(a); }}\n" for f in FUNCTIONS)
    text += "".join(f"float once_more_{f}(float a, float b) {{ return cn_{f}_f32(a, b); }}\n" for f in TWO)
    text += "".join(loop(f"loop_to_{t}", one, f"cn_cast_f32_{t}(a[i])", c) for t, c in CASTS.items())
    text += "".join(loop(f"loop_from_{t}", f"const {c} *restrict a", f"cn_cast_{t}_f32(a[i])") for t, c in CASTS.items())
    text += loop("loop_clip_affine", two, "cn_clip_f32(a[i] * b[i], 0.0f, 6.0f) * 3.0f + b[i]")
    text += loop("loop_relu_affine", two, "cn_max_f32(a[i] * b[i], 0.0f) * 3.0f + b[i]")
    text += loop("loop_select", two, "cn_select_f32(cn_lt_f32(a[i], b[i]), a[i] + b[i], a[i] * b[i])")
    return text


def failures(compiler, root):
    run = subprocess.run([compiler, *FLAGS, "-I", str(root / "runtime-lite")], input=source(), capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    bodies = re.findall(r"^(loop_\w+):[^\n]*\n(.*?)^\s*\.size\s+\1,", run.stdout, re.M | re.S)
    bad = [name for name, body in bodies if "%ymm" not in body or re.search(r"\bcall", body)]
    return bad, len(bodies)


def main():
    root, wrong, total = Path(sys.argv[1]), 0, 0
    for compiler in filter(shutil.which, ("gcc", "clang")):
        bad, n = failures(compiler, root)
        for name in bad:
            print(f"{compiler}: {name} is not vector code")
        wrong, total = wrong + len(bad), total + n
    print(f"{total - wrong} passed, {wrong} failed")
    sys.exit(1 if wrong or not total else 0)


main()
