"""Holds the compilers to what the kernels assume: no warnings, register tiles fully unrolled, no accumulator spilled.

usage: codegen.py SOURCE_ROOT [LEVEL[:tiles]...] [COMPILER...]

LEVEL:tiles: only targets of vectors, and of the files those that hold register tiles.
COMPILER: gcc, clang, or what goes before them in the name of a cross compiler; a target whose machine has no compiler here is
skipped.

Every kernel of runtime-lite/kernels.def is compiled over every target's SIMD layer (over a layer that adds to another target's, at -O0
and at LEVEL:tiles, what mentions its additions) as strict C99 by each compiler, at the levels -O0,
-O2 and -O3, or those given. At -O2 and -O3 the functions that hold the register tile must have an innermost loop with exactly
MR x NR / lanes FMA instructions a step, of one step or several (the integer one as many products of pairs), and no such loop may
store to the stack or (on x86) walk one pointer from row to row, whose additions would wait for each other longer than the products take.
"""

import concurrent.futures
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
JUMP = re.compile(r"\s+(?:j\w+|b\.\w+|b[a-z]{2}|b|cbn?z\s+\w+,|tbn?z\s+\w+,\s*#?\w+,)\s+(\.L\w+)")
FMA = re.compile(r"vfmadd\w+|fmla\s")
MADD = re.compile(r"vpmaddwd|vpdp\w+|addp\s")  # NEON multiplies halves: the sum of neighbours is there once
# tile: the functions that hold it, and the instruction of each vector of it
TILED = {"gemm_f32": (("cn_gemm_part_f32", "cn_conv_f32"), FMA), "gemm_s16": (("cn_block_s16",), MADD), "blocked_f32": (("cn_blocked_conv_f32_{mr}", "cn_blocked_plain_f32_{mr}", "cn_winograd_product_f32"), FMA),
         "split_f32": ((), FMA)}  # its sums are no vectors
TILED_FILES = [f"kernels/{name}.h" for name in ("gemm_f32", "conv_f32", "gemm_s16", "blocked_f32", "winograd_f32")]


def rows(path, macro):
    """Return the argument lists of one macro in a table, quotes removed."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    found = re.findall(rf"^{macro}\((.*)\)$", text, flags=re.M)
    return [[a.strip().strip('"') for a in row.split(",")] for row in found]




def with_included(root, file):
    """Return a header's text with that of the project's headers that it includes, each again wherever it is."""
    text = (root / "runtime-lite" / file).read_text()
    return text + "".join(with_included(root, name) for name in re.findall(r'^#include "(kernels/[^"]+)"', text, flags=re.M))


def of_addition(root, layer, kernels):
    """Return the rows that mention what a layer adds to another target's; None: it is no addition."""
    layers = {rows(t, "LAYER")[0][0] for t in (root / "targets").glob("*.def")}
    text = (root / "runtime-lite" / layer).read_text()
    if not layers.intersection(re.findall(r'^#include "([^"]+)"', text, flags=re.M)):
        return None
    added = set(re.findall(r"^#define (\w+)", text, flags=re.M)) - {"CN_SIMD"}
    words = {file: set(re.findall(r"\w+", with_included(root, file))) for file in {row[4] for row in kernels}}
    return [row for row in kernels if words[row[4]] & added]


# What takes literals: how a driver of its own is called, and calls it.
LITERALS = {
    "cn_few_columns_f32": "CN_DRIVER void {name}_some(const cn_gemm_f32_args *g) {{ {name}(g, 1); {name}(g, CN_VF32_LANES); }}",
    "cn_softmax_short_f32": "CN_DRIVER void {name}_some(const cn_softmax_f32_args *s) {{ {name}(s, 1, 0, 1); {name}(s, 4 * CN_VF32_LANES, 0, 1); }}",
}


def source(layer, kernels):
    """Return a translation unit that keeps every driver of the table."""
    files = dict.fromkeys(row[4] for row in kernels)
    tiles = ["#ifdef CN_TILE_PRODUCTS", '#include "amx/split_f32.h"', "#endif"]  # before what calls it by the layer's name for it
    lines = [f'#include "{layer}"', *tiles, *(f'#include "{f}"' for f in files), "typedef void (*function)(void);"]
    lines += [text.format(name=name) for name, text in LITERALS.items() if any(row[0] == name for row in kernels)]
    lines.append("extern const function cn_all[];")
    lines.append("const function cn_all[] = {" + ", ".join(f"(function){row[0]}{'_some' * (row[0] in LITERALS)}" for row in kernels) + "};")
    return "\n".join(lines) + "\n"


def innermost_loops(assembly, function):
    """Yield the instructions of each innermost loop of a function in the assembly of x86 (AT&T) or AArch64."""
    start = re.search(rf"^{function}(\.\w+)*:", assembly, flags=re.M).start()  # a clone keeps the name in front
    lines = assembly[start : assembly.index("\t.size", start)].split("\n")
    labels = {}
    for i, line in enumerate(lines):
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = i
        jump = JUMP.match(line)
        if jump and jump[1] in labels:
            body = [re.split(r"\s#\s|//", x)[0].strip() for x in lines[labels[jump[1]] : i + 1] if re.match(r"\s+[a-z]", x)]
            if not any(JUMP.match("\t" + x) for x in body[:-1]):
                yield body


def spills(body):
    """Return the vector stores to the stack in a loop."""
    return [x for x in body if re.match(r"vmov\w+\s+%[xyz]mm\d+, .*\(%r[sb]p|st\w+\s+[qv]\d+.*\[(sp|x29)", x)]


def chained(body, steps):
    """Return the registers that a loop adds to more than twice a step: once, and once more where a compiler counts in two strides."""
    sums = [m[1] for x in body if (m := re.match(r"(?:add|sub|inc|lea)q\s+(?:.*,\s*)?(%r\w+)$", x))]
    return sorted({r for r in sums if sums.count(r) > 2 * steps})


def check_tiles(assembly, functions, instruction, wanted, whole):
    """Return complaints about one kind of register tile and spills of one assembly file, which is whole or has some of the functions."""
    bad = []
    for function in functions:
        if not whole and not re.search(rf"^{function}(\.\w+)*:", assembly, flags=re.M):
            continue
        counts = set()
        for body in innermost_loops(assembly, function):
            found = sum(bool(instruction.match(x)) for x in body)
            counts.add(found)
            if found and spills(body):
                bad.append(f"{function}: a loop with {found} products stores to the stack: {spills(body)}")
            if found and found % wanted == 0 and chained(body, found // wanted):
                bad.append(f"{function}: a loop with {found} products adds again and again to {chained(body, found // wanted)}")
        if not any(c and c % wanted == 0 for c in counts):
            bad.append(f"{function}: no innermost loop with {wanted} products (loops have {sorted(counts)})")
    return bad


def compiler_for(compiler, machine):
    """Return the command that compiles for a machine, or None."""
    if machine in ("", f"{platform.machine()}-linux-gnu"):
        return [compiler] if shutil.which(compiler) else None
    if not shutil.which(f"{machine}-gcc"):  # clang takes its headers
        return None
    if "clang" in compiler:
        return [compiler, f"--target={machine}"] if shutil.which(compiler) else None
    return [f"{machine}-gcc"] if compiler == "gcc" else None


def machine_flags(root, target):
    """Return what a machine without a C library needs to compile at all."""
    flags = rows(target, "CFLAGS")[0][0].split()
    if "-ffreestanding" not in flags:
        return []
    return [*(f for f in flags if f.startswith(("-m", "-ffree"))), "-isystem", root / "tests/backend/freestanding"]


def check(root, compiler, level, target, kernels, directory):
    """Compile one unit; return complaints."""
    layer, bits, _ = rows(target, "LAYER")[0]
    added = of_addition(root, layer, kernels) if level.endswith(("-O0", ":tiles")) else None
    if added is not None:
        kernels = added
    if level.endswith(":tiles"):
        kernels = [row for row in kernels if row[4] in TILED_FILES]
    unit = directory / "unit.c"
    unit.write_text(source(layer, kernels))
    out = directory / "unit.s"
    command = [*compiler, *machine_flags(root, target), "-std=c99", level.removesuffix(":tiles"), "-ffp-contract=off", *WARNINGS, f"-I{root}/runtime-lite", "-S", unit, "-o", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return [done.stderr]
    if level == "-O0" or bits == "32":
        return []
    bad = []
    for tile, mr, nr, *_ in rows(target, "TILE"):
        functions, instruction = TILED[tile]
        functions = [f.format(mr=mr) for f in functions]
        bad += check_tiles(out.read_text(), functions, instruction, int(mr) * int(nr) * 32 // int(bits), added is None)
    return bad


def judge(root, kernels, case):
    """One line or more about a compiler, level and target; whether it failed."""
    compiler, level, target = case
    machine = (rows(target, "MACHINE") or [[""]])[0][0]
    command = compiler_for(compiler, machine)
    title = f"{compiler} {level} {target.stem}"
    if not command:
        return f"{title}: skipped, no such compiler", False
    with tempfile.TemporaryDirectory() as directory:
        bad = check(root, command, level, target, kernels, pathlib.Path(directory))
    return "\n  ".join([f"{title}: {'FAILED' if bad else 'ok'}", *bad]), bool(bad)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    levels = [a for a in sys.argv[2:] if a.startswith("-O")] or ["-O0", "-O2", "-O3"]
    compilers = [a for a in sys.argv[2:] if not a.startswith("-O")] or ["gcc", "clang"]
    kernels = rows(root / "runtime-lite/kernels.def", "KERNEL")
    # kernels are the target's own (tests/cuda), or those of its levels
    targets = [t for t in sorted((root / "targets").glob("*.def")) if not rows(t, "LANGUAGE") and not rows(t, "LEVELS")]
    vectors = [t for t in targets if rows(t, "LAYER")[0][1] != "32"]
    cases = [(c, level, t) for c in compilers for level in levels for t in (vectors if level.endswith(":tiles") else targets)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        found = list(pool.map(lambda case: judge(root, kernels, case), cases))
    print(*(line for line, _ in found), sep="\n")
    return any(bad for _, bad in found)


if __name__ == "__main__":
    sys.exit(main())
