#!/usr/bin/env python3
"""Stands in for castnet in selftest.py: behaves as the first word of the file beside the model says (`act`)."""
import json
import os
import sys
import time
from pathlib import Path

VERDICTS = {  # act: exit status, verdict, codes
    "pass": (0, "pass", []), "unsupported": (1, "refused", ["E0303"]), "misjudge": (1, "refused", ["E0402"]),
    "differ": (3, "differs", ["E0602"]), "fail": (3, "failed", ["E0603"]), "compiler": (4, "failed", ["E0006"]),
    "bug": (5, "bug", ["E0901"]), "lie": (0, "differs", ["E0602"]),
}


def act_of(model):
    return (Path(model).parent / "act").read_text().strip()


def end_badly(act):
    if act == "crash":
        os.abort()
    if act == "hang":
        time.sleep(60)
    if act == "sanitizer":
        sys.stderr.write("x.c:1:2: runtime error: signed integer overflow\n")
        sys.exit(99)
    if act == "greedy":
        held = bytearray(200 << 20)
        held[::4096] = b"x" * len(held[::4096])


def record(model):
    status, verdict, codes = VERDICTS[act_of(model)]
    rows = [{"code": code, "op": "Foo", "domain": "", "text": "no"} for code in codes]
    return status, {"schema": "castnet-check-1", "model": model, "verdict": verdict, "diagnostics": rows}


def check(arguments):
    if "--batch" in arguments:
        for row in json.loads(Path(arguments[arguments.index("--batch") + 1]).read_text()):
            end_badly(act_of(row["model"]))
            print(json.dumps(record(row["model"])[1]), flush=True)
        return 0
    end_badly(act_of(arguments[0]))
    status, found = record(arguments[0])
    print(json.dumps(found))
    return status


def compile_model(arguments):
    act = act_of(arguments[0])
    end_badly(act)
    out = Path(arguments[arguments.index("-o") + 1])
    status = {"pass": 0, "greedy": 0, "unclean": 0, "bug": 5}.get(act, 1)
    if status == 0 or act == "litter":
        out.mkdir()
        (out / "model.h").write_text("typedef int model_t;\n")
        (out / "model.c").write_text("int a = 1.5;\n" if act == "unclean" else "#include \"model.h\"\nextern model_t b;\n")
    if status == 1 and act != "silent":
        code = "E0303" if act == "unsupported" else "E0101"
        sys.stderr.write(f"model.onnx: node #0 (Foo): error {code}: no\n")
    return status


def main():
    command, *arguments = sys.argv[1:]
    if "--help" in arguments:
        print("--batch FILE --sanitize")
        return 0
    return check(arguments) if command == "check" else compile_model(arguments)


if __name__ == "__main__":
    sys.exit(main())
