"""targets/*.def to the table of compiler/base/target.h.

usage: embed_targets.py TARGETS_DIR OUT.c DEPFILE
"""
import re
import sys
from pathlib import Path

ROW = re.compile(r"^(TARGET|MACHINE|LAYER|CPU|CFLAGS|ISA|TILE|LANGUAGE|ALIGN|CODE|LEVELS)\((.*)\)\s*$", re.M)
MAX_LEVELS = 8  # TARGET_MAX_LEVELS


def read(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    target = {"tiles": [], "MACHINE": ['""', "little"], "LANGUAGE": ['"c"', '""'], "ALIGN": ["64"], "CODE": ["fast"],
              "LEVELS": ['""']}
    for row, args in ROW.findall(text):
        args = [a.strip() for a in re.findall(r'"[^"]*"|[^,]+', args)]
        if row == "TILE":
            target["tiles"].append(args)
        else:
            target[row] = args
    target["levels"] = [f'"{name}"' for name in target["LEVELS"][0].strip('"').split()]
    missing = {"TARGET", "LAYER", "CPU", "CFLAGS", "ISA"} - set(target)
    if missing:
        sys.exit(f"{path}: no row {sorted(missing)[0]}")
    if len(target["levels"]) > MAX_LEVELS:
        sys.exit(f"{path}: more than {MAX_LEVELS} levels")
    return target


def ordered(targets):
    """A fallback before those that fall back on it, levels before the target that picks among them, otherwise by name."""
    done, rest = [], sorted(targets, key=lambda t: t["TARGET"][1])
    while rest:
        names = {t["TARGET"][1] for t in done} | {'""'}
        ready = [t for t in rest if {t["TARGET"][2], *t["levels"]} <= names]
        if not ready:
            sys.exit(f"targets: {rest[0]['TARGET'][1]} names an unknown target")
        done.append(ready[0])
        rest.remove(ready[0])
    return done


def main():
    paths = sorted(Path(sys.argv[1]).glob("*.def"))
    out, depfile = Path(sys.argv[2]), Path(sys.argv[3])
    targets = ordered([read(p) for p in paths])
    word = {t["TARGET"][1]: t["TARGET"][0] for t in targets}
    lines = ['#include "base/target.h"', ""]
    for t in targets:
        w, name, fallback = t["TARGET"]
        layer, bits = t["LAYER"][:2]
        machine, order = t["MACHINE"]
        if t["tiles"]:
            lines += [f"static const TargetTile tiles_{w}[] = {{"]
            lines += [f'    {{"{k[0]}", {", ".join(k[1:])}}},' for k in t["tiles"]]
            lines += ["};"]
        if t["levels"]:
            lines += [f"static const Target *const levels_{w}[] = {{{', '.join(f'&target_{word[name]}' for name in t['levels'])}}};"]
        levels = f"levels_{w}, {len(t['levels'])}" if t["levels"] else "NULL, 0"
        tiles = f"tiles_{w}, sizeof tiles_{w} / sizeof *tiles_{w}" if t["tiles"] else "NULL, 0"
        above = f"&target_{word[fallback]}" if fallback != '""' else "NULL"
        lines += [f"static const Target target_{w} = {{", f"    {name}, {above}, {machine}, {'true' if order == 'big' else 'false'}, {layer}, {bits}, {t['CPU'][0]},",
                  f"    {t['CFLAGS'][0]},", f"    {t['ISA'][0]}, {t['ISA'][1]}, {tiles},", f"    {t['LANGUAGE'][0]}, {t['LANGUAGE'][1]}, {t['ALIGN'][0]}, {'true' if t['CODE'][0] == 'small' else 'false'},",
                  f"    {levels}}};", ""]
    lines += ["const Target *const targets[] = {", *(f"    &target_{t['TARGET'][0]}," for t in targets), "    NULL};"]
    out.write_text("\n".join(lines) + "\n")
    depfile.write_text(f"{out}: " + " ".join(str(p) for p in [*paths, Path(sys.argv[1])]) + "\n")


main()
