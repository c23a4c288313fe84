"""Text files to a C table {name, text}, for compiler/backend/template.c.

usage: embed_text.py FILE... OUT.c
"""
import sys
from pathlib import Path


def c_string(text):
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return '"' + out.replace("\n", '\\n"\n  "') + '"'


lines = ['#include "backend/template.h"', "", '#pragma GCC diagnostic ignored "-Woverlength-strings"', "",
         "const Template templates[] = {"]
for f in map(Path, sys.argv[1:-1]):
    lines.append(f'{{"{f.name}",\n  {c_string(f.read_text())}}},')
lines += ["};", "const size_t n_templates = sizeof templates / sizeof *templates;"]
Path(sys.argv[-1]).write_text("\n".join(lines) + "\n")
