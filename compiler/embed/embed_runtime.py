"""runtime-lite/**.h to a C table of its top-level items, for compiler/backend/bundle.c.

usage: embed_runtime.py RUNTIME_DIR OUT.c DEPFILE

A file is a sequence of items with exactly one blank line between two, none inside. Left out are the SPDX line, the head
comment, the include guard and the #includes, which become properties of the file's items: the system headers they need.
Each item lists the names that it defines and the names defined anywhere in runtime-lite that it uses. An item whose names
cannot be seen (a macro that makes functions) says them itself in a comment: `defines: cn_a cn_b`.
"""
import re
import sys
from pathlib import Path

SKIP = {"castnet_abi.h", "pool/castnet_pool.h"}  # the one stands in generated headers, the other beside them, as a whole
IDENT = re.compile(r"[A-Za-z_]\w*")
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def die(path, item, why):
    sys.exit(f"{path}: {why} in the item that starts with: {item.strip().splitlines()[0]}")


def strip(text):
    """Without comments and strings."""
    return COMMENT_OR_STRING.sub(" ", text)


def depth_zero(code):
    """The code outside braces, each brace block as `{}`."""
    out, depth = [], 0
    for c in code:
        if c == "{":
            depth += 1
            if depth == 1:
                out.append("{}")
        elif c == "}":
            depth -= 1
        elif depth == 0:
            out.append(c)
    return "".join(out)


def without_attributes(code):
    """Drops `__attribute__((...))` and `_Pragma(...)` with their parentheses."""
    while True:
        m = re.search(r"\b(__attribute__|_Pragma)\s*\(", code)
        if not m:
            return code
        i, depth = m.end(), 1
        while depth and i < len(code):
            depth += {"(": 1, ")": -1}.get(code[i], 0)
            i += 1
        code = code[: m.start()] + code[i:]


def defined_in(item):
    """Names that the item defines: macros, functions, types, constants of enums, objects."""
    said = re.search(r"defines:((?:\s+\w+)+)", item)
    names = set(said.group(1).split()) if said else set()
    code = re.sub(r"\\\n", " ", strip(item))
    names |= set(re.findall(r"^\s*#\s*define\s+(\w+)", code, re.M))
    code = re.sub(r"^\s*#[^\n]*", "", code, flags=re.M)
    names |= set(re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*\{", code))
    for body in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", code):
        names |= {m for m in re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip()) if IDENT.fullmatch(m)}
    flat = without_attributes(depth_zero(code))
    for statement in re.findall(r"[^;{}]+(?:\{\}|;)?", flat):
        statement = re.sub(r"\bCN_ALIGN\s*\([^)]*\)", "", statement)
        if re.match(r"\s*typedef\b", statement):
            function_type = re.search(r"\(\s*\*\s*(\w+)\s*\)", statement) or re.search(r"(\w+)\s*\([^()]*\)\s*;", statement)
            name = function_type or re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*;", statement)
            if name:
                names.add(name.group(1))
        else:
            m = re.search(r"(\w+)\s*\(", statement) or re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*=", statement)
            if m and re.match(r"\s*[A-Za-z_]", statement):
                names.add(m.group(1))
    if re.search(r"\btypedef\b", flat):
        names |= set(re.findall(r"\{\}\s*(\w+)\s*;", flat))
    return {n for n in names if n.lower().startswith("cn_")}


def items_of(path):
    """(items, system headers, project includes) of a file."""
    text = path.read_text()
    system = re.findall(r"^#include <([^>]+)>", text, re.M)
    project = re.findall(r'^#include "([^"]+)"', text, re.M)
    guard = re.search(r"^#ifndef (\w+)\n#define \1\n", text, re.M)
    if not guard or not text.rstrip().endswith("#endif"):
        sys.exit(f"{path}: no include guard around the file")
    body = text[guard.end():].rstrip()[: -len("#endif")]
    body = re.sub(r"^#include [^\n]*\n", "", body, flags=re.M)
    items = [i.strip("\n") for i in re.split(r"\n\s*\n", body)]
    return [i for i in items if strip(i).strip()], system, project


def c_string(text):
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return '"' + out.replace("\n", '\\n"\n  "') + '"'


def main():
    root, out, depfile = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    paths = sorted(p for p in root.rglob("*.h") if p.relative_to(root).as_posix() not in SKIP)
    if not paths:
        sys.exit(f"{root}: no headers; was the source folder moved?")
    files = {p.relative_to(root).as_posix(): items_of(p) for p in paths}

    def headers(name, seen):
        if name in seen or name not in files:
            return set()
        seen.add(name)
        return set(files[name][1]).union(*(headers(p, seen) for p in files[name][2]), set())

    chunks = []
    for name, (items, _, _) in files.items():
        once = set()
        for item in items:
            names = defined_in(item)
            if not names:
                die(root / name, item, "no name starting with cn_ or CN_ is defined")
            if "#if" not in item and len(re.findall(r"\)\s*\{\}", depth_zero(strip(item)))) > 1:
                die(root / name, item, "several functions")
            if names & once:
                die(root / name, item, f"{sorted(names & once)[0]} is defined again")
            once |= names
            chunks.append((name, names, item))
    known = set().union(*(c[1] for c in chunks), set())
    lines = ['#include "backend/bundle_table.h"', "", '#pragma GCC diagnostic ignored "-Woverlength-strings"', "",
             "const BundleChunk bundle_chunks[] = {"]
    for name, names, item in chunks:
        uses = (set(IDENT.findall(strip(item))) & known) - names
        lines.append(f'{{"{name}", "{" ".join(sorted(names))}", "{" ".join(sorted(uses))}",')
        lines.append(f'  "{" ".join(sorted(headers(name, set())))}",')
        lines.append(f"  {c_string(item)}}},")
    lines.append("};")
    lines.append("const size_t n_bundle_chunks = sizeof bundle_chunks / sizeof *bundle_chunks;")
    out.write_text("\n".join(lines) + "\n")
    folders = sorted({p.parent for p in paths} | {root})
    depfile.write_text(f"{out}: " + " ".join(str(p) for p in [*paths, *folders]) + "\n")


main()
