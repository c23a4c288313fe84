#!/usr/bin/env python3
"""Print runtime-lite/ops/case_table.h: Unicode's simple case mappings as ranges, from Python's own database.

  make_case_table.py [--check FILE]

--check compares instead (and is silent where this Python knows another version of Unicode than the file).
"""
import argparse
import sys
import unicodedata
from pathlib import Path

LAST = 0x10FFFF


def simple_upper(c):
    """Python has full mappings; where one is several characters, the simple one is that of the title case, or none."""
    full, title = chr(c).upper(), chr(c).title()
    return ord(full) if len(full) == 1 else ord(title) if len(title) == 1 else c


def simple_lower(c):
    full = chr(c).lower()
    return ord(full) if len(full) == 1 else ord(full[0])  # only U+0130, whose simple mapping is i


def ranges(mapping):
    """[(first, count, step, delta)] of the characters that change."""
    pairs = [(c, mapping(c) - c) for c in range(LAST + 1) if not 0xD800 <= c < 0xE000 and mapping(c) != c]
    found = []
    for c, delta in pairs:
        last = found[-1] if found else None
        step = c - last[0] - (last[1] - 1) * last[2] if last else 0
        if last and last[3] == delta and (step == last[2] or (last[1] == 1 and step <= 2)):
            found[-1] = (last[0], last[1] + 1, step, delta)
        else:
            found.append((c, 1, 1, delta))
    return found


def table():
    lower, upper = ranges(simple_lower), ranges(simple_upper)
    lines = ["/* SPDX-License-Identifier: MIT-0 */",
             f"/* Simple case mappings of Unicode {unicodedata.unidata_version}, made by tests/strings/make_case_table.py. */",
             "#ifndef CN_OPS_CASE_TABLE_H", "#define CN_OPS_CASE_TABLE_H", "", "#include <stdint.h>", "",
             "/* `count` characters from `first`, `step` apart, become those `delta` further. */",
             "typedef struct cn_case_range {", "  uint32_t first;", "  uint16_t count, step;", "  int32_t delta;", "} cn_case_range;", "",
             f"enum {{ CN_CASE_LOWER = {len(lower)}, CN_CASE_UPPER = {len(upper)} }};", ""]
    for name, size, rows in (("lower", "CN_CASE_LOWER", lower), ("upper", "CN_CASE_UPPER", upper)):
        lines.append(f"static const cn_case_range cn_case_to_{name}[{size}] = {{")
        texts = [f"{{0x{first:x}, {count}, {step}, {delta}}}," for first, count, step, delta in rows]
        lines += ["  " + " ".join(texts[i:i + 5]) for i in range(0, len(texts), 5)]
        lines += ["};", ""]
    return "\n".join(lines + ["#endif", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", type=Path)
    options = parser.parse_args()
    if not options.check:
        print(table(), end="")
        return 0
    held = options.check.read_text()
    same_version = f"Unicode {unicodedata.unidata_version}," in held
    return 1 if same_version and held != table() else 0


if __name__ == "__main__":
    sys.exit(main())
