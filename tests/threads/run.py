#!/usr/bin/env python3
"""Steps in shares give the same bits whoever runs them: 1, 2, 3, 7 threads, one thread in any order, by ranges or one by one, no threads, an older environment.

  run.py --castnet build/compiler/castnet --cases DIR [--models DIR]

`castnet check --threads=all` builds a model and judges it without threads; its objects are then linked with orders.c in the pool's
place, and every run's outputs are compared with those, byte for byte. Some are built with ThreadSanitizer, as is the pool's own test.
"""
import argparse
import os
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

RUNTIME = ROOT / "runtime-lite"
ORDERS = ("forward", "reverse", "random", "1", "2", "3", "7")
TARGET = "c99"
MODELS = ("bert_toy", "ultraface_rfb320", "tinyvit_demo", "yunet_s_320", "hand_keypoint_cls", "micro_kws_qop", "gpt2_genai_past", "byte_bilstm",
          "dtln_1", "mnist_cntk", "person_det_rpi", "magika_v3_3")
SANITIZED = ("bert_toy", "micro_kws_qop", "mnist_cntk", "byte_bilstm")
CASES = ("node/test_conv_with_strides_padding", "node/test_maxpool_2d_default", "node/test_averagepool_3d_dilations*False*", "node/test_softmax_large_number",
         "node/test_layer_normalization_4d_axis2", "node/test_matmul_4d", "node/test_qlinearmatmul_3D_int8_float32", "node/test_attention_4d_causal",
         "node/test_cumsum_2d_axis_1", "node/test_reduce_sum_square_keepdims_random", "node/test_argmax_keepdims_random", "node/test_gelu_default_1",
         "node/test_convtranspose_3d", "node/test_group_normalization_example", "node/test_einsum_batch_matmul", "node/test_concat_3d_axis_1",
         "node/test_lstm_with_peepholes", "node/test_gru_seq_length", "node/test_rnn_seq_length", "node/test_range_float_type_positive_delta", "node/test_resize_upsample_scales_cubic", "node/test_loop11", "simple/test_sequence_model7")


def run(command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", **options)
    return done.returncode, done.stdout + done.stderr


def pool_test(folder):
    program = folder / "pool"
    code, text = run(["gcc", "-std=c11", "-g", "-O1", "-fsanitize=thread", "-Wall", "-Wextra", f"-I{RUNTIME}", HERE / "pool.c",
                      RUNTIME / "pool/castnet_pool.c", "-o", program, "-pthread"])
    return text if code else "" if run([program]) == (0, "the pool does what it says\n") else run([program])[1]


def build(folder, sanitize, until=None):
    """The program of the kept objects with orders.c; why not, if so. until: the member before which its environment ends."""
    source = folder / "castnet_check.c"
    call = folder / "castnet_check_call.h"
    whole = call.read_text()
    if until:
        call.write_text(whole.replace("env.size = sizeof env;", f"env.size = offsetof(castnet_env, {until});"))
    objects = sorted(p for p in folder.glob("[0-9]*.o") if p.name != "0.o")
    program = folder / f"program_{until}"
    flags = ["-g", "-fsanitize=thread"] if sanitize else []
    code, text = run(["gcc", "-O1", *flags, "-DCHECK_THREADS=1", f"-I{folder}", f"-I{RUNTIME}", f"-I{RUNTIME}/pool", source, HERE / "orders.c", *objects,
                      "-o", program, "-pthread"])
    call.write_text(whole)
    return program, "" if code == 0 else text


# ---- recurrent layers whose units, directions or sequences are parted ----
UNITS, STEPS = 128, 7  # on every target at least two shares; a state that ends after an odd number of further steps
WEIGHTS = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent_model(path, op, direction, whole, attributes, batch=3, units=UNITS):
    """One layer of seeded weights; whole: of sequences of several lengths, from given states, peepholes, all outputs."""
    random = np.random.default_rng(len(path.name))
    dirs, rows, size = 2 if direction == "bidirectional" else 1, WEIGHTS[op] * units, 20
    shapes = {"w": (dirs, rows, size), "r": (dirs, rows, units), "b": (dirs, 2 * rows)}
    names = ["x", "w", "r", "b"]
    held = []
    if whole:
        held.append(numpy_helper.from_array(np.resize(np.array([STEPS, 2, 0], np.int32), batch), "lengths"))
        names += ["lengths", "h"] + (["c", "p"] if op == "LSTM" else [])
        shapes |= {"h": (dirs, batch, units), **({"c": (dirs, batch, units), "p": (dirs, 3 * units)} if op == "LSTM" else {})}
    held += [numpy_helper.from_array(random.uniform(-0.2, 0.2, shape).astype(np.float32), name) for name, shape in shapes.items()]
    results = ["y", "y_h", "y_c"][:(3 if op == "LSTM" else 2) if whole else 1]
    node = onnx.helper.make_node(op, names, results, hidden_size=units, direction=direction, **attributes)
    infos = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in results]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (STEPS, batch, size))
    graph = onnx.helper.make_graph([node], "recurrent", [x], infos, held)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 22)], ir_version=10), path)


def recurrent_models(folder):
    made = {"lstm units": ("LSTM", "forward", False, {}), "lstm units, whole": ("LSTM", "reverse", True, {"clip": 0.9, "input_forget": 1}),
            "rnn units, whole": ("RNN", "reverse", True, {}), "gru units": ("GRU", "forward", False, {"linear_before_reset": 1}),
            "gru units, whole": ("GRU", "reverse", True, {"linear_before_reset": 1, "clip": 0.5}), "gru products, whole": ("GRU", "forward", True, {}),
            "lstm directions": ("LSTM", "bidirectional", False, {}, 1, 20), "lstm directions, whole": ("LSTM", "bidirectional", True, {"clip": 0.9, "input_forget": 1}),
            "gru directions, whole": ("GRU", "bidirectional", True, {"linear_before_reset": 1}), "rnn directions, whole": ("RNN", "bidirectional", True, {}),
            "lstm sequences": ("LSTM", "forward", False, {}, 8, 40), "lstm sequences, whole": ("LSTM", "bidirectional", True, {"clip": 0.9}, 19),
            "gru sequences, whole": ("GRU", "bidirectional", True, {"linear_before_reset": 1}, 9, 33), "rnn sequences, whole": ("RNN", "reverse", True, {}, 70, 16)}
    for name, how in made.items():
        recurrent_model(folder / f"{name}.onnx", *how)
        yield name, folder / f"{name}.onnx", False
    for name in ("lstm units, whole", "gru units, whole", "lstm directions, whole", "gru sequences, whole"):
        yield f"{name}, ThreadSanitizer", folder / f"{name}.onnx", True


# ---- products that pack an operand in the call, for few batches or one, or have so few rows that vectors read it as it lies; elements assigned to slices ----
def products_model(path):
    shapes = {"a": (2, 1, 130, 24), "b": (2, 1, 24, 40), "c": (1, 1, 24, 50), "d": (1, 1, 130, 50), "e": (2, 90, 24), "f": (2, 24, 40), "g": (150, 24), "h": (24, 70), "i": (2, 5, 24), "j": (2, 24, 150),
              "k": (2, 150, 24)}
    nodes = [onnx.helper.make_node("MatMul", ["a", "b"], ["ab"]), onnx.helper.make_node("MatMul", ["a", "c"], ["ac_only"]),
             onnx.helper.make_node("Add", ["ac_only", "d"], ["ac"]), onnx.helper.make_node("MatMulInteger", ["e", "f"], ["ef"]),
             onnx.helper.make_node("MatMul", ["g", "h"], ["gh"]), onnx.helper.make_node("Reshape", ["d", "d_shape"], ["part"]),
             onnx.helper.make_node("MatMul", ["i", "j"], ["ij"]), onnx.helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
             onnx.helper.make_node("MatMul", ["i", "kt"], ["ik"]), onnx.helper.make_node("ScatterND", ["gh", "places", "part"], ["placed"])]
    places = np.stack(np.meshgrid(np.arange(2, 132), np.arange(7, 57), indexing="ij"), -1)
    held = [numpy_helper.from_array(places, "places"), numpy_helper.from_array(np.array([130, 50]), "d_shape")]
    types = {"e": onnx.TensorProto.UINT8, "f": onnx.TensorProto.INT8, "ef": onnx.TensorProto.INT32}
    infos = [[onnx.helper.make_tensor_value_info(n, types.get(n, onnx.TensorProto.FLOAT), shapes.get(n)) for n in names]
             for names in (shapes, ("ab", "ac", "ef", "gh", "placed", "ij", "ik"))]
    graph = onnx.helper.make_graph(nodes, "products", *infos, held)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8), path)


# ---- attention: masked keys, heads that share keys and values, few heads and many ----
def attention_model(path):
    heads = {"few": (6, 2), "many": (24, 3), "own": (3, 3)}
    shapes = {f"{k}_{x}": (1, n, 110, 16) for k, both in heads.items() for x, n in zip("qkv", (both[0], both[1], both[1]))}
    nodes = [onnx.helper.make_node("Attention", [f"{k}_{x}" for x in "qkv"], [k], is_causal=int(k != "own")) for k in heads]
    infos = [[onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shapes.get(n)) for n in names] for names in (shapes, heads)]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "attention", *infos), opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=11), path)


# ---- Winograd's tiles: several bands and one, images, what follows a convolution in registers and not ----
def tiles_model(path):
    random = np.random.default_rng(1)
    nodes, held, made = [], [], {"wide": (1, 32, 64, 38), "deep": (2, 64, 80, 13)}
    for name, (_, c, m, _) in made.items():
        held += [numpy_helper.from_array(random.uniform(-0.1, 0.1, shape).astype(np.float32), f"{name}_{x}") for x, shape in (("w", (m, c, 3, 3)), ("b", (m,)))]
        nodes += [onnx.helper.make_node("Conv", [f"{name}_x", f"{name}_w", f"{name}_b"], [f"{name}_y"], pads=[1, 1, 1, 1]),
                  onnx.helper.make_node("Relu" if name == "wide" else "Sigmoid", [f"{name}_y"], [name])]
    infos = [[onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n, shape in shapes.items()]
             for shapes in ({f"{k}_x": (n, c, side, side) for k, (n, c, _, side) in made.items()}, {k: (n, m, side, side) for k, (n, _, m, side) in made.items()})]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "tiles", *infos, held), opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8), path)


def vector_models(folder):
    for name, make in (("products", products_model), ("attention", attention_model), ("tiles", tiles_model)):
        path = folder / f"{name}.onnx"
        make(path)
        yield f"{name} for vectors", path, False
        yield f"{name} for vectors, ThreadSanitizer", path, True


def check(options, name, model, folder, sanitize):
    """What is wrong, or an empty text, and how often something was handed out."""
    extra = ["--cflags=-g -fsanitize=thread"] if sanitize else []
    code, text = run([options.castnet, "check", model, "--target", options.target, "--threads=all", "-j", "2", "--timeout", "600", "--keep", folder, *extra])
    if code not in (0, 3) or not (folder / "outputs").exists():
        return f"castnet check: {text.strip()[-300:]}", 0
    expected = (folder / "outputs").read_bytes()
    calls = 0
    for until, orders in ((None, ORDERS), ("parallel_ranges", ORDERS[1:3])) if not sanitize else ((None, ("3",)),):
        program, why = build(folder, sanitize, until)
        if why:
            return why[-2000:], 0
        for order in orders:
            code, text = run([program, 0, folder / "inputs", folder / "got"], env={**os.environ, "ORDER": order})
            calls += "calls" in text or "ranges" in text
            if code or "WARNING" in text or (until and "ranges" in text):
                return f"ORDER={order}: exit {code}: {text[-3000:]}", calls
            if (folder / "got").read_bytes() != expected:
                return f"ORDER={order}: other bits than without threads", calls
    program, why = build(folder, sanitize, "parallel_for")
    if why:
        return why[-2000:], calls
    code, text = run([program, 0, folder / "inputs", folder / "got"], env={**os.environ, "ORDER": "never"})
    if code or (folder / "got").read_bytes() != expected:
        return f"an older environment: exit {code}: {text[-300:]}", calls
    return "", calls


def work(options):
    found = [(p.name, p / "model.onnx", False) for p in (options.models / m for m in MODELS)]
    found += [(f"{name}, ThreadSanitizer", options.models / name / "model.onnx", True) for name in SANITIZED]
    for pattern in CASES:
        found += [(p.name, p / "model.onnx", False) for p in sorted(options.cases.glob(pattern))[:1]]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True, type=harness.castnet_path)
    parser.add_argument("--cases", required=True, type=Path)
    parser.add_argument("--models", type=Path, default=ROOT.parent / "shared" / "models")
    parser.add_argument("--target", default=TARGET)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    passed = failed = skipped = handed = 0
    with tempfile.TemporaryDirectory() as folder:
        why = pool_test(Path(folder))
        passed, failed = passed + (not why), failed + bool(why)
        if why:
            print(f"the pool: {why}")
        for name, model, sanitize in [*work(options), *recurrent_models(Path(folder)), *vector_models(Path(folder))]:
            if options.filter not in name:
                continue
            if not model.exists():
                skipped += 1
                continue
            keep = Path(folder) / "kept"
            shutil.rmtree(keep, ignore_errors=True)
            why, calls = check(options, name, model, keep, sanitize)
            handed += calls > 0
            passed, failed = passed + (not why), failed + bool(why)
            if why:
                print(f"{name}: {why}")
    print(f"{handed} of them ran in shares")
    return harness.totals(passed, failed, skipped)


if __name__ == "__main__":
    sys.exit(main())
