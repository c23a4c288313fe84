#!/usr/bin/env python3
"""Operators of com.microsoft against ONNX Runtime.

  run.py --castnet build/compiler/castnet [--target NAME] [--filter NAME]

Each case is one node: its inputs (a name beginning with `w` is a constant of the model), its attributes, the number of its outputs. ONNX
Runtime, without optimisations, gives the outputs that `castnet check` compares with.
"""
import argparse
import dataclasses
import fnmatch
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

CASES = []
RTOL, ATOL = 1e-3, 1e-5


@dataclasses.dataclass
class Case:
    name: str
    op: str
    inputs: list  # (name, array) or None
    attributes: dict
    outputs: int = 1
    atol: float = ATOL
    asked: list = None  # inputs that mean the same, where ONNX Runtime does not take these
    refused: str = ""  # the diagnostic that castnet ends in


def case(*args, **options):
    CASES.append(Case(*args, **options))


def rng(seed):
    return np.random.default_rng(seed)


def floats(*shape, seed=1):
    return rng(seed).uniform(-1, 1, shape).astype(np.float32)


def bytes_of(*shape, seed=1, dtype=np.uint8):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return rng(seed).integers(low, high + 1, shape).astype(dtype)


def weights_of(*shape, seed=1, dtype=np.uint8):
    """Signed ones of 7 bits: without dot-product instructions ONNX Runtime adds pairs of products in 16 bits, which more would saturate."""
    return bytes_of(*shape, seed=seed, dtype=dtype) // (2 if dtype is np.int8 else 1)


# ---- MatMulNBits: weights, scales, zero points by block ----
def nbits(name, bits, block, k, n, zeros=None, bias=False, constant=True, g_idx=False, lead=(2, 3)):
    count = -(-k // block)
    w = "w" if constant else ""
    packed = bytes_of(n, count, block * bits // 8, seed=2)
    inputs = [("a", floats(*lead, k)), (f"{w}b", packed), (f"{w}s", np.abs(floats(n, count, seed=3)))]
    if zeros == "packed":
        inputs.append((f"{w}z", bytes_of(n, -(-count * bits // 8), seed=4)))
    elif zeros == "float":
        inputs.append((f"{w}z", rng(4).integers(0, 1 << bits, (n, count)).astype(np.float32)))
    else:
        inputs.append(None)
    inputs.append((f"{w}g", (np.arange(k) % count).astype(np.int32)) if g_idx else None)
    inputs.append((f"{w}c", floats(n, seed=5)) if bias else None)
    case(name, "MatMulNBits", inputs, {"K": k, "N": n, "bits": bits, "block_size": block}, atol=1e-4)


nbits("nbits_4", 4, 16, 32, 8)
nbits("nbits_4_tail", 4, 16, 40, 6, zeros="packed")
nbits("nbits_4_float_zeros", 4, 32, 64, 5, zeros="float")
nbits("nbits_4_bias", 4, 32, 96, 5, zeros="packed", bias=True)
nbits("nbits_4_inputs", 4, 16, 40, 6, zeros="packed", constant=False)
nbits("nbits_4_g_idx", 4, 16, 48, 6, g_idx=True)
nbits("nbits_8", 8, 16, 32, 8, zeros="packed")
nbits("nbits_4_row", 4, 16, 64, 150, lead=(1, 1))
nbits("nbits_4_row_zeros", 4, 32, 96, 37, zeros="packed", bias=True, lead=(1,))
nbits("nbits_4_row_float_zeros", 4, 16, 48, 70, zeros="float", lead=(1, 1))
nbits("nbits_4_row_inputs", 4, 16, 64, 20, constant=False, lead=(1, 1))
nbits("nbits_8_row", 8, 16, 32, 300, zeros="packed", lead=(1, 1))

# ---- other quantised products ----
for kind in (np.uint8, np.int8):
    word = np.dtype(kind).name
    scales = [("as", np.float32(0.05)), ("bs", floats(5, seed=3) ** 2 + np.float32(0.01))]
    case(f"to_float_{word}", "MatMulIntegerToFloat",
         [("a", bytes_of(3, 4, dtype=np.uint8)), ("wb", weights_of(4, 5, seed=2, dtype=kind)), *scales, ("az", np.uint8(100)),
          ("wz", bytes_of(5, seed=4, dtype=kind)), ("c", floats(5, seed=5))], {})
    case(f"dynamic_matmul_{word}", "DynamicQuantizeMatMul",
         [("a", floats(3, 4)), ("wb", weights_of(4, 5, seed=2, dtype=kind)), ("ws", np.float32(0.02)), ("wz", np.asarray(3, kind)), ("c", floats(5, seed=5))], {})
qgemm = [("a", bytes_of(3, 4)), ("as", np.float32(0.05)), ("az", np.uint8(120)), ("wb", bytes_of(5, 4, seed=2)), ("ws", np.float32(0.02)), ("wz", np.uint8(130)),
         ("wc", rng(6).integers(-500, 500, 5).astype(np.int32))]
case("qgemm_float", "QGemm", qgemm, {"transB": 1})
case("qgemm", "QGemm", [*qgemm, ("ys", np.float32(0.3)), ("yz", np.uint8(110))], {"transB": 1, "alpha": 1.0})
for act in ("Relu", "LeakyRelu", "Sigmoid", "Tanh"):
    case(f"fused_gemm_{act.lower()}", "FusedGemm", [("a", floats(3, 4)), ("b", floats(4, 5, seed=2)), ("c", floats(5, seed=3))],
         {"activation": act, "alpha": 0.5, "beta": 2.0, **({"activation_alpha": 0.2} if act == "LeakyRelu" else {})})
lstm_w, lstm_r = weights_of(1, 3, 16, seed=2, dtype=np.int8), weights_of(1, 4, 16, seed=3, dtype=np.int8)
case("dynamic_lstm", "DynamicQuantizeLSTM",
     [("x", floats(5, 2, 3)), ("ww", lstm_w), ("wr", lstm_r), ("wb", floats(1, 32, seed=4)), None, None, None, None,
      ("ws", np.full(1, 0.004, np.float32)), ("wz", np.zeros(1, np.int8)), ("rs", np.full(1, 0.004, np.float32)), ("rz", np.zeros(1, np.int8))],
     {"hidden_size": 4}, 3, atol=2e-2)

# ---- heads ----
q, k, v = floats(2, 3, 8), floats(2, 5, 8, seed=2), floats(2, 5, 8, seed=3)
heads = {"num_heads": 2}
case("heads", "MultiHeadAttention", [("q", q), ("k", k), ("v", v)], heads)
case("heads_bias", "MultiHeadAttention", [("q", q), ("k", k), ("v", v), ("b", floats(24, seed=4))], heads)
case("heads_scale", "MultiHeadAttention", [("q", q), ("k", k), ("v", v)], {**heads, "scale": 0.25})
case("heads_lengths", "MultiHeadAttention", [("q", q), ("k", k), ("v", v), None, ("m", np.array([3, 5], np.int32))], heads)
case("heads_mask", "MultiHeadAttention", [("q", q), ("k", k), ("v", v), None, ("m", (floats(2, 5, seed=6) > -0.5).astype(np.int32))], heads)
case("heads_attention_bias", "MultiHeadAttention", [("q", q), ("k", k), ("v", v), None, None, ("a", floats(1, 2, 3, 5, seed=7))], heads)
three, two = floats(2, 3, 2, 3, 4), floats(2, 5, 2, 2, 4)
case("heads_packed", "MultiHeadAttention", [("q", three)], heads,
     asked=[(name, three[:, :, :, i].reshape(2, 3, 8)) for i, name in enumerate("qkv")])
case("heads_packed_keys", "MultiHeadAttention", [("q", q), ("k", two)], heads,
     asked=[("q", q), *((name, two[:, :, :, i].reshape(2, 5, 8)) for i, name in enumerate("kv"))])
case("heads_cross", "MultiHeadAttention", [("q", q), ("k", floats(2, 2, 5, 4, seed=2)), ("v", floats(2, 2, 5, 4, seed=3))], heads)
case("heads_past", "MultiHeadAttention", [("q", q), ("k", k[:, :3]), ("v", v[:, :3]), None, None, None, ("pk", floats(2, 2, 4, 4, seed=8)), ("pv", floats(2, 2, 4, 4, seed=9))],
     {**heads, "unidirectional": 1}, 3)
table = floats(10, 4, seed=5)
for interleaved in (0, 1):
    case(f"rotary_{interleaved}", "RotaryEmbedding", [("x", floats(2, 3, 16)), ("p", np.array([[0, 1, 2], [4, 5, 6]], np.int64)), ("c", table), ("s", floats(10, 4, seed=6))],
         {"interleaved": interleaved})
    case(f"rotary_offset_{interleaved}", "RotaryEmbedding", [("x", floats(2, 2, 3, 8)), ("p", np.array([3], np.int64)), ("c", table), ("s", floats(10, 4, seed=6))],
         {"interleaved": interleaved})

# ---- grouped heads: 4 of queries, 2 of keys and values, 16 wide ----
def groups(name, new, past=0, lengths=None, packed=False, extra=None, buffer=None, bias=None, sink=None, outputs=3, **attributes):
    """`past` valid keys (in a buffer of `buffer`), then `new` ones; `lengths`: of each sequence in all."""
    total = past + new
    lengths = lengths or [total, total]
    q, k, v = floats(2, new, 64), floats(2, new, 32, seed=2), floats(2, new, 32, seed=3)
    inputs = [("q", np.concatenate([q, k, v], 2)), None, None] if packed else [("q", q), ("k", k), ("v", v)]
    room = buffer or past
    memory = [np.zeros((2, 2, room, 16), np.float32) for _ in range(2)]
    for i, held in enumerate(memory):
        for row, length in enumerate(lengths):
            held[row, :, :length - new] = floats(2, length - new, 16, seed=4 + i)
    inputs += [("pk", memory[0]), ("pv", memory[1])] if room else [None, None]
    inputs += [("n", np.array(lengths, np.int32) - 1), ("t", np.array(total, np.int32))]
    rotary = attributes.get("do_rotary")
    inputs += [("c", floats(16, 8, seed=8)), ("s", floats(16, 8, seed=9))] if rotary else [None, None]
    inputs += [None, ("a", bias) if bias is not None else None, ("h", sink) if sink is not None else None]
    while inputs[-1] is None:
        inputs.pop()
    case(name, "GroupQueryAttention", inputs, {"num_heads": 4, "kv_num_heads": 2, **attributes}, outputs)


groups("groups_first", 5)
groups("groups_first_rotary", 5, do_rotary=1)
groups("groups_first_interleaved", 5, do_rotary=1, rotary_interleaved=1)
groups("groups_packed", 5, packed=True, do_rotary=1)
groups("groups_next", 1, past=4, do_rotary=1)
groups("groups_next_scale", 1, past=4, scale=0.5, softcap=2.0)
groups("groups_next_window", 1, past=6, local_window_size=3)
groups("groups_first_window", 6, local_window_size=3)
groups("groups_ragged", 1, past=6, lengths=[7, 4], do_rotary=1)
groups("groups_buffer", 1, past=4, buffer=9, do_rotary=1)
groups("groups_buffer_ragged", 1, past=4, buffer=9, lengths=[5, 3], do_rotary=1)
groups("groups_first_buffer", 5, buffer=9, outputs=1)
groups("groups_bias", 5, bias=floats(1, 4, 5, 5, seed=7))
groups("groups_sink", 5, sink=floats(4, seed=7))
groups("groups_smooth", 5, smooth_softmax=1)


# ---- element-wise and normalisation ----
x = floats(2, 3, 8)
case("gelu", "Gelu", [("x", x * 4)], {})
case("bias_gelu", "BiasGelu", [("x", x), ("b", floats(8, seed=2))], {})
case("fast_gelu", "FastGelu", [("x", x * 4)], {}, atol=1e-4)
case("fast_gelu_bias", "FastGelu", [("x", x), ("b", floats(8, seed=2))], {}, atol=1e-4)
case("quick_gelu", "QuickGelu", [("x", x * 4)], {"alpha": 1.5})
case("skip_layer_norm", "SkipLayerNormalization", [("x", x), ("s", floats(2, 3, 8, seed=2)), ("g", floats(8, seed=3)), ("b", floats(8, seed=4)), ("c", floats(8, seed=5))],
     {"epsilon": 1e-5})
case("skip_rms_norm", "SkipSimplifiedLayerNormalization", [("x", x), ("s", floats(2, 3, 8, seed=2)), ("g", floats(8, seed=3))], {"epsilon": 1e-5})
ids = np.array([[1, 3, 2], [0, 4, 4]], np.int32)
embedding = [("i", ids), ("g", ids % 2), ("w1", floats(5, 8)), ("w2", floats(3, 8, seed=2)), ("w3", floats(2, 8, seed=3)), ("w4", floats(8, seed=4)), ("w5", floats(8, seed=5))]
case("embed", "EmbedLayerNormalization", embedding, {"epsilon": 1e-5}, 2)
case("embed_mask", "EmbedLayerNormalization", [*embedding, ("m", np.array([[1, 1, 0], [1, 0, 0]], np.int32))], {"epsilon": 1e-5}, 2)
attention = [("x", x), ("ww", floats(8, 24, seed=2)), ("wb", floats(24, seed=3))]
case("attention", "Attention", attention, {"num_heads": 2})
case("attention_causal", "Attention", attention, {"num_heads": 2, "unidirectional": 1})
case("attention_mask", "Attention", [*attention, ("m", np.array([[1, 1, 0], [1, 1, 1]], np.int32))], {"num_heads": 2})
for batch in (0, 1):
    case(f"fused_matmul_{batch}", "FusedMatMul", [("a", floats(2, 3, 4) if not batch else floats(3, 2, 4)), ("b", floats(2, 5, 4, seed=2))],
         {"transB": 1, "alpha": 0.5, "transBatchA": batch})
for act, p in (("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4]), ("Sigmoid", []), ("Tanh", [])):
    case(f"fused_conv_{act.lower()}", "FusedConv", [("x", floats(1, 2, 5, 5)), ("ww", floats(3, 2, 3, 3, seed=2)), ("wb", floats(3, seed=3))],
         {"activation": act, "pads": [1, 1, 1, 1], **({"activation_params": p} if p else {})})

# ---- QLinear: one quantum of difference is a rounding ----
for kind in (np.uint8, np.int8):
    word, zero = np.dtype(kind).name, np.asarray(5, kind)
    x8, sx, sy = bytes_of(2, 3, 4, 4, dtype=kind), np.float32(0.03), np.float32(0.05)
    two = [("a", x8), ("was", sx), ("waz", zero), ("b", bytes_of(2, 3, 4, 4, seed=2, dtype=kind)), ("wbs", sy), ("wbz", zero), ("wcs", np.float32(0.06)), ("wcz", zero)]
    one = [("a", x8), ("was", sx), ("waz", zero), ("wys", np.float32(0.02)), ("wyz", zero)]
    case(f"qadd_{word}", "QLinearAdd", two, {}, atol=1.01)
    case(f"qmul_{word}", "QLinearMul", two, {}, atol=1.01)
    case(f"qsigmoid_{word}", "QLinearSigmoid", one, {}, atol=1.01)
    case(f"qleaky_{word}", "QLinearLeakyRelu", one, {"alpha": 0.1}, atol=1.01)
    case(f"qaverage_{word}", "QLinearAveragePool", one, {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]}, atol=1.01)
    case(f"qaverage_last_{word}", "QLinearAveragePool", one, {"kernel_shape": [2, 2], "channels_last": 1}, atol=1.01)
    tall = [("a", bytes_of(2, 7, 5, 3, dtype=kind)), *one[1:]]
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        case(f"qaverage_{pad.lower()}_{word}", "QLinearAveragePool", tall, {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": pad}, atol=1.01)
        case(f"qaverage_last_{pad.lower()}_{word}", "QLinearAveragePool", tall, {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": pad, "channels_last": 1}, atol=1.01)
    case(f"qglobal_{word}", "QLinearGlobalAveragePool", one, {"channels_last": 0}, atol=1.01)
    case(f"qglobal_last_{word}", "QLinearGlobalAveragePool", one, {"channels_last": 1}, atol=1.01)
    for opset in (12, 13):
        case(f"qsoftmax_{opset}_{word}", "QLinearSoftmax", [*one[:3], ("wys", np.float32(1 / 256)), ("wyz", np.asarray(np.iinfo(kind).min, kind))],
             {"axis": 1, "opset": opset}, atol=1.01)
    case(f"qconcat_{word}", "QLinearConcat", [("wys", sy), ("wyz", zero), ("a", x8), ("was", sx), ("waz", zero), ("b", x8[:, :2]), ("wbs", sy), ("wbz", zero)],
         {"axis": 1}, atol=1.01)

    case(f"qwhere_{word}", "QLinearWhere", [("c", x8 > 10), ("a", x8), ("was", sx), ("waz", zero), ("b", bytes_of(4, seed=2, dtype=kind)), ("wbs", sy), ("wbz", zero),
                                            ("wys", np.float32(0.06)), ("wyz", zero)], {}, atol=1.01)
    case(f"nhwc_max_{word}", "NhwcMaxPool", [("a", bytes_of(2, 7, 5, 3, dtype=kind))], {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]})
    case(f"nhwc_max_same_{word}", "NhwcMaxPool", [("a", bytes_of(2, 7, 5, 3, dtype=kind))], {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"})
    for last in (0, 1):
        case(f"qconv_{last}_{word}", "QLinearConv",
             [("x", bytes_of(*((1, 6, 5, 4) if last else (1, 4, 6, 5)), dtype=kind)), ("wxs", sx), ("wxz", zero), ("wk", bytes_of(6, 2, 3, 3, seed=2, dtype=kind)),
              ("wks", np.abs(floats(6, seed=3)) * np.float32(0.05)), ("wkz", np.full(6, 7 if kind is np.uint8 else 0, kind)), ("wys", np.float32(0.7)), ("wyz", zero),
              ("wb", rng(6).integers(-500, 500, 6).astype(np.int32))],
             {"group": 2, "pads": [1, 1, 1, 1], "strides": [2, 1], "kernel_shape": [3, 3], "channels_last": last}, atol=1.01)

for kind in (np.uint8, np.int8, np.uint16, np.int16):
    word, x = np.dtype(kind).name, floats(3, 4) * np.float32(90)
    for zero, label in ((np.asarray(9, kind), ""), (np.arange(4).astype(kind), "_axis")):
        scale = np.float32(0.5) if zero.ndim == 0 else np.array([0.5, 1, 0.25, 2], np.float32)
        case(f"quantise_{word}{label}", "QuantizeLinear", [("x", x), ("s", scale), ("z", zero)], {"axis": 1} if zero.ndim else {})
        case(f"dequantise_{word}{label}", "DequantizeLinear", [("x", bytes_of(3, 4, dtype=kind)), ("s", scale), ("z", zero)], {"axis": 1} if zero.ndim else {})

# ---- rows of tables in blocks ----
for bits, block, zeros in ((4, 16, True), (4, 32, False), (8, 16, True), (8, 16, False)):
    for constant in "wt":
        width, count = 64 * bits // 8, 64 // block
        table = [(f"{constant}d", bytes_of(7, width, seed=2)), ("i", np.array([[3, 0], [6, -1]], np.int64)), (f"{constant}s", np.abs(floats(7, count, seed=3)))]
        if zeros:
            table.append((f"{constant}z", bytes_of(7, -(-count * bits // 8), seed=4)))
        case(f"gather_blocks_{bits}_{block}_{zeros:d}_{constant}", "GatherBlockQuantized", table, {"bits": bits, "block_size": block, "quantize_axis": 1, "gather_axis": 0})

# ---- 8-bit attention, tables, small ones ----
for kind in (np.uint8, np.int8):
    word = np.dtype(kind).name
    packed = [("x", bytes_of(2, 3, 8)), ("ww", weights_of(8, 24, seed=2, dtype=kind)), ("wb", floats(24, seed=3)), ("xs", np.float32(0.02)), ("ws", np.float32(0.01))]
    zeros = [("xz", np.uint8(120)), ("wz", np.asarray(5, kind))]
    case(f"qattention_{word}", "QAttention", [*packed, None, *zeros], {"num_heads": 2})
    case(f"qattention_mask_{word}", "QAttention", [*packed, ("m", np.array([2, 3], np.int32)), *zeros], {"num_heads": 2, "unidirectional": 1})
    case(f"qattention_past_{word}", "QAttention", [*packed, None, *zeros, ("p", floats(2, 2, 2, 4, 4, seed=7))], {"num_heads": 2, "unidirectional": 1}, 2)
tables = [bytes_of(*shape, seed=i) for i, shape in enumerate(((5, 8), (3, 8), (2, 8), (8,), (8,)))]
for mask in (0, 1):
    case(f"qembed_{mask}", "QEmbedLayerNormalization",
         [("i", ids), ("g", ids % 2), *((f"wt{i}", t) for i, t in enumerate(tables)), ("m", np.array([[1, 1, 0], [1, 0, 0]], np.int32)) if mask else None,
          *((f"ws{i}", np.float32(0.01 * (i + 1))) for i in range(5)), *((f"wz{i}", np.uint8(100 + i)) for i in range(5))], {"epsilon": 1e-5}, 2)
for upper in (0, 1):
    case(f"trilu_{upper}", "Trilu", [("x", floats(2, 3, 4)), ("k", np.array(-1, np.int64))], {"upper": upper})
case("gather_nd", "GatherND", [("x", floats(3, 4, 2)), ("i", np.array([[0, 1], [2, 3]], np.int32))], {})
case("transpose_matmul", "TransposeMatMul", [("a", floats(2, 4, 3)), ("b", floats(2, 4, 5, seed=2))], {"transA": 1, "alpha": 0.5})

# ---- shapes that do not fit ----
wrong = floats(2, 3, 5)
case("wrong_attention", "Attention", [("x", wrong), *attention[1:]], {"num_heads": 2}, refused="E0402")
case("wrong_qattention", "QAttention", [("x", bytes_of(2, 3, 5)), *packed[1:]], {"num_heads": 2}, refused="E0402")
case("wrong_zeros", "QAttention", [*packed, None, ("xz", np.array([1, 2], np.uint8)), *zeros[1:]], {"num_heads": 2}, refused="E0402")
case("wrong_heads", "MultiHeadAttention", [("q", q), ("k", k[0]), ("v", v)], heads, refused="E0402")
case("wrong_embed", "EmbedLayerNormalization", [("i", ids), ("g", ids), ("w1", floats(5, 8)), ("w2", floats(3, 4)), *embedding[4:]], {}, refused="E0402")
case("wrong_qconv", "QLinearConv", [("x", np.array(3, np.uint8)), ("xs", np.float32(1)), ("xz", np.uint8(0)), ("k", bytes_of(2, 2, 1, 1)), ("ks", floats(2)), ("kz", np.uint8(0)),
                                    ("ys", np.float32(1)), ("yz", np.uint8(0))], {"channels_last": 1}, refused="E0402")
case("wrong_groups", "GroupQueryAttention", [("q", wrong), ("k", wrong), ("v", wrong), None, None, ("n", np.zeros(2, np.int32)), ("t", np.array(3, np.int32))],
     {"num_heads": 4, "kv_num_heads": 3}, refused="E0304")


def model_of(row):
    node = helper.make_node(row.op, [i[0] if i else "" for i in row.inputs], [f"y{i}" for i in range(row.outputs)], domain="com.microsoft", **row.attributes)
    given = [(name, np.asarray(v)) for name, v in filter(None, row.inputs)]
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for name, v in given if name[0] != "w"]
    constants = [numpy_helper.from_array(v, name) for name, v in given if name[0] == "w"]
    outputs = [helper.make_value_info(f"y{i}", onnx.TypeProto()) for i in range(row.outputs)]
    graph = helper.make_graph([node], row.name, infos, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    return model, {name: v for name, v in given if name[0] != "w"}


def oracle(row):
    model, inputs = model_of(row)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)


def judge_refused(castnet, row, folder):
    onnx.save(model_of(row)[0], folder / "model.onnx")
    done = subprocess.run([castnet, "compile", folder / "model.onnx", "-o", folder / "out"], capture_output=True, text=True)
    return done.returncode == 1 and f"error {row.refused}:" in done.stderr, done.stdout + done.stderr


def judge(castnet, row, folder, target):
    if row.refused:
        return judge_refused(castnet, row, folder)
    model, inputs = model_of(row)
    outputs = oracle(dataclasses.replace(row, inputs=row.asked or row.inputs))
    for info, value in zip(model.graph.output, outputs):
        info.CopyFrom(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    data = folder / "test_data_set_0"
    data.mkdir()
    onnx.save(model, folder / "model.onnx")
    for side, arrays in (("input", inputs.values()), ("output", outputs)):
        for i, array in enumerate(arrays):
            (data / f"{side}_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    done = subprocess.run([castnet, "check", folder / "model.onnx", "--rtol", str(RTOL), "--atol", str(row.atol), "--target", target], capture_output=True, text=True)
    said = done.stdout + done.stderr
    by_one = re.search(r"(\d+) of \d+ elements differ by one quantum", said)
    differ = re.search(r"E0602: .*: (\d+) of \d+ elements differ", said)
    rounded = by_one and differ and by_one[1] == differ[1] and row.atol >= 1  # of 8-bit results, whose last place is the oracle's own approximation
    return done.returncode == 0 or bool(rounded), said


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--castnet", required=True, type=Path)
    options.add_argument("--target", default="c99")
    options.add_argument("--filter", default="*")
    args = options.parse_args()
    passed = failed = 0
    for row in CASES:
        if not fnmatch.fnmatch(row.name, args.filter):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                ok, said = judge(args.castnet.resolve(), row, Path(folder), args.target)
        except Exception as error:  # the oracle refuses the case
            ok, said = False, f"{error}\n"
        passed, failed = passed + ok, failed + (not ok)
        if not ok:
            print(f"FAIL {row.name}\n{said}again: tests/contrib/run.py --castnet {args.castnet} --target {args.target} --filter {row.name}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
