"""Models of one operator each, for the benchmark's set `operators`: where a network spends its time on one that is slow, its table names nothing but
the network. 65,536 elements mostly, which a second cache holds.

A row: name, operator, inputs, attributes. An input is a shape ("64x1024", "1x64x56x56:f16", "scalar:s64") of data that calls bring; [shape] is a
constant of random numbers, any other list or number the constant itself, None an input left out.
"""
import zlib
from functools import partial

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

OPSET, NEW_OPSET, NEW = 22, 23, ("RMSNormalization", "Attention")
TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "u8": np.uint8, "s8": np.int8, "s32": np.int32, "s64": np.int64, "b1": np.bool_}
OUTPUTS = {"TopK": 2, "Split": 4, "Unique": 1, "DynamicQuantizeLinear": 3}

FLAT, IMAGE, SMALL = "64x1024", "1x64x32x32", "1x64x56x56"


def unary():
    names = ("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish IsNaN IsInf LeakyRelu Log LogSoftmax Mish Neg "
             "Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Tan Tanh ThresholdedRelu Hardmax").split()
    for name in names:
        yield name.lower(), name, [FLAT], {}
    yield "gelu_tanh", "Gelu", [FLAT], {"approximate": "tanh"}
    yield "clip", "Clip", [FLAT, -0.5, 0.5], {}
    yield "not", "Not", [f"{FLAT}:b1"], {}
    for kind in ("f16", "f64"):
        for name in ("Exp", "Tanh", "Sigmoid"):
            yield f"{name.lower()}_{kind}", name, [f"{FLAT}:{kind}"], {}
    for source, target in (("f32", "f16"), ("f16", "f32"), ("f32", "s32"), ("s32", "f32"), ("f32", "u8"), ("u8", "f32"), ("s64", "f32"), ("f32", "s64"), ("f64", "f32")):
        yield f"cast_{source}_{target}", "Cast", [f"{FLAT}:{source}"], {"to": helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[target]))}


def binary():
    for name in ("Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Max", "Min", "Mean", "Less", "Equal"):
        yield name.lower(), name, [FLAT, FLAT], {}
    for name, by in (("row", "1024"), ("column", "64x1"), ("scalar", "scalar")):
        yield f"add_{name}", "Add", [FLAT, by], {}
    yield "mul_channel", "Mul", [IMAGE, "1x64x1x1"], {}
    for kind in ("f16", "f64", "s32", "s64", "u8"):
        yield f"add_{kind}", "Add", [f"{FLAT}:{kind}"] * 2, {}
    for name in ("Div", "Mod"):
        for kind in ("s32", "s64", "u8"):
            yield f"{name.lower()}_{kind}", name, [f"{FLAT}:{kind}", [FLAT + ":" + kind]], {}
    yield "fmod", "Mod", [FLAT, FLAT], {"fmod": 1}
    for exponent in (0.5, 2.0, 3.0, -1.0, -2.0, 1.5):
        yield f"pow_{exponent:g}", "Pow", [FLAT, exponent], {}
    yield "where", "Where", [f"{FLAT}:b1", FLAT, FLAT], {}
    yield "and", "And", [f"{FLAT}:b1"] * 2, {}


def reductions():
    for name in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"):
        for axis, where in ((1, "last"), (0, "first")):
            yield f"{name.lower()}_{where}", name, [FLAT, [np.int64(axis)]], {}
    yield "reducesum_middle", "ReduceSum", ["16x64x64", [np.int64(1)]], {}
    yield "reducemean_image", "ReduceMean", [IMAGE, [np.int64(2), np.int64(3)]], {}
    for name in ("ArgMax", "ArgMin"):
        for axis, where in ((1, "last"), (0, "first")):
            yield f"{name.lower()}_{where}", name, [FLAT], {"axis": axis}
    yield "cumsum_last", "CumSum", [FLAT, np.int64(1)], {}
    yield "cumsum_first", "CumSum", [FLAT, np.int64(0)], {}
    for axis, where in ((1, "last"), (0, "first")):
        yield f"topk_{where}", "TopK", [FLAT, [np.int64(8)]], {"axis": axis}
    yield "topk_all", "TopK", [FLAT, [np.int64(1024)]], {}
    for axis in (1, 0):
        yield f"softmax_axis{axis}", "Softmax", ["64x32x32"], {"axis": axis}
    yield "softmax_10", "Softmax", ["6400x10"], {}
    for name, shape in (("LayerNormalization", "64"), ("LayerNormalization", "1024")):
        yield f"layernorm_{shape}", name, [f"{65536 // int(shape)}x{shape}", [shape], [shape]], {}
    yield "rmsnorm", "RMSNormalization", [FLAT, ["1024"]], {}
    yield "groupnorm", "GroupNormalization", [IMAGE, ["64"], ["64"]], {"num_groups": 8}
    yield "instancenorm", "InstanceNormalization", [IMAGE, ["64"], ["64"]], {}
    yield "batchnorm", "BatchNormalization", [IMAGE, ["64"], ["64"], ["64"], [np.float32(1)] * 64], {}
    yield "lrn", "LRN", [IMAGE], {"size": 5}
    yield "lpnorm", "LpNormalization", [FLAT], {}


def moves():
    for name, shape, perm in (("2d", FLAT, (1, 0)), ("nchw_nhwc", IMAGE, (0, 2, 3, 1)), ("nhwc_nchw", "1x32x32x64", (0, 3, 1, 2)), ("heads", "1x128x8x64", (0, 2, 1, 3)),
                              ("reverse", "16x16x16x16", (3, 2, 1, 0))):
        for kind in ("f32", "u8", "f16") if name in ("2d", "nchw_nhwc") else ("f32",):
            yield f"transpose_{name}_{kind}", "Transpose", [f"{shape}:{kind}"], {"perm": perm}
    yield "gather_rows", "Gather", ["1024x64", "1024:s64"], {}
    yield "gather_columns", "Gather", ["1024x64", "64:s64"], {"axis": 1}
    yield "gather_elements", "GatherElements", [FLAT, f"{FLAT}:s64"], {}
    yield "gather_nd", "GatherND", ["64x8x128", "512x2:s64"], {}
    yield "scatter_elements", "ScatterElements", [FLAT, f"8x1024:s64", "8x1024"], {}
    yield "scatter_nd", "ScatterND", [FLAT, [[np.int64(i)] for i in range(0, 64, 2)], "32x1024"], {}
    yield "concat_channels", "Concat", [IMAGE, IMAGE], {"axis": 1}
    yield "concat_last", "Concat", ["1024x32", "1024x32"], {"axis": 1}
    yield "split_last", "Split", ["1024x64"], {"axis": 1, "num_outputs": 4}
    yield "slice_step", "Slice", [FLAT, [np.int64(0)], [np.int64(1024)], [np.int64(1)], [np.int64(2)]], {}
    yield "slice_back", "Slice", [FLAT, [np.int64(-1)], [np.int64(-2000)], [np.int64(1)], [np.int64(-1)]], {}
    yield "pad", "Pad", [IMAGE, [np.int64(n) for n in (0, 0, 1, 1, 0, 0, 1, 1)]], {}
    yield "pad_reflect", "Pad", [IMAGE, [np.int64(n) for n in (0, 0, 1, 1, 0, 0, 1, 1)]], {"mode": "reflect"}
    yield "tile", "Tile", ["64x256", [np.int64(1), np.int64(4)]], {}
    yield "expand", "Expand", ["64x1x32", [np.int64(64), np.int64(32), np.int64(32)]], {}
    yield "depth_to_space", "DepthToSpace", [IMAGE], {"blocksize": 2}
    yield "space_to_depth", "SpaceToDepth", [IMAGE], {"blocksize": 2}
    yield "trilu", "Trilu", ["256x256"], {}
    yield "eyelike", "EyeLike", ["256x256"], {}
    yield "onehot", "OneHot", ["1024:s64", np.int64(64), [np.float32(0), np.float32(1)]], {}
    yield "nonzero", "NonZero", [f"{FLAT}:b1"], {}
    yield "unique", "Unique", ["4096"], {}
    yield "reverse_sequence", "ReverseSequence", [FLAT, [np.int64(32)] * 1024], {}
    for name, attributes in (("nearest", {"mode": "nearest"}), ("linear", {"mode": "linear"}), ("cubic", {"mode": "cubic"}),
                             ("linear_corners", {"mode": "linear", "coordinate_transformation_mode": "align_corners"})):
        yield f"resize_{name}", "Resize", ["1x16x32x32", None, [np.float32(f) for f in (1, 1, 2, 2)]], attributes
    yield "resize_half", "Resize", [SMALL, None, [np.float32(f) for f in (1, 1, 0.5, 0.5)]], {"mode": "linear"}
    for mode in ("linear", "nearest", "cubic"):
        yield f"gridsample_{mode}", "GridSample", ["1x16x32x32", "1x32x32x2"], {"mode": mode}
    yield "roialign", "RoiAlign", ["1x64x32x32", [[np.float32(n) for n in (1, 2, 20, 25)]] * 8, [np.int64(0)] * 8], {"output_height": 7, "output_width": 7, "sampling_ratio": 2}


def products():
    for m, k, n in ((1, 512, 512), (1, 64, 10), (1, 1024, 1000), (8, 512, 512), (64, 512, 512), (256, 256, 256), (512, 64, 64), (1000, 32, 10)):
        yield f"matmul_{m}x{k}x{n}", "MatMul", [f"{m}x{k}", [f"{k}x{n}"]], {}
    for m, k, n in ((1, 512, 512), (512, 512, 1), (64, 256, 64), (256, 256, 256)):
        yield f"matmul_{m}x{k}x{n}_calls", "MatMul", [f"{m}x{k}", f"{k}x{n}"], {}
    yield "matmul_batch", "MatMul", ["12x64x64", "12x64x64"], {}
    yield "gemm_transposed", "Gemm", ["64x512", ["512x512"], ["512"]], {"transB": 1}
    for kind in ("f16", "f64", "s32"):
        yield f"matmul_{kind}", "MatMul", [f"64x128:{kind}", [f"128x128:{kind}"]], {}
    yield "matmul_integer", "MatMulInteger", ["64x256:u8", ["256x256:s8"]], {}
    for equation, shapes in (("ij,ij->i", (FLAT, FLAT)), ("bhid,bhjd->bhij", ("1x4x64x64", "1x4x64x64")), ("bij,bjk->bik", ("4x64x64", "4x64x64")), ("ii->i", ("256x256",))):
        yield f"einsum_{equation.replace(',', '_').replace('->', '_')}", "Einsum", list(shapes), {"equation": equation}
    yield "lstm", "LSTM", ["50x1x64", ["1x512x64"], ["1x512x128"]], {"hidden_size": 128}
    yield "lstm_batch", "LSTM", ["25x16x64", ["1x512x64"], ["1x512x128"]], {"hidden_size": 128}
    yield "gru", "GRU", ["50x1x64", ["1x384x64"], ["1x384x128"]], {"hidden_size": 128}
    yield "rnn", "RNN", ["50x1x64", ["1x128x64"], ["1x128x128"]], {"hidden_size": 128}
    yield "attention", "Attention", ["1x8x128x64"] * 3, {}
    yield "attention_causal", "Attention", ["1x8x512x64"] * 3, {"is_causal": 1}
    yield "attention_causal_grouped", "Attention", ["1x8x512x64", "1x2x512x64", "1x2x512x64"], {"is_causal": 1}
    yield "attention_step", "Attention", ["1x8x1x64", "1x8x256x64", "1x8x256x64"], {}
    yield "attention_step_1024", "Attention", ["1x8x1x64", "1x8x1024x64", "1x8x1024x64"], {}
    yield "attention_step_grouped", "Attention", ["1x8x1x64", "1x2x1024x64", "1x2x1024x64"], {}
    yield "dft", "DFT", ["64x512x1", None, np.int64(1)], {}
    yield "dft_400", "DFT", ["64x400x1", None, np.int64(1)], {}
    yield "stft", "STFT", ["1x8000x1", np.int64(160), ["400"]], {}
    yield "det", "Det", ["64x8x8"], {}


def windows():
    def conv(name, shape, weights, **attributes):
        return name, "Conv", [shape, [weights], [weights.split("x")[0]]], attributes

    same = {"pads": (1, 1, 1, 1)}
    yield conv("conv_1x1", SMALL, "64x64x1x1")
    yield conv("conv_3x3", SMALL, "64x64x3x3", **same)
    yield conv("conv_3x3_half", SMALL, "64x64x3x3", strides=(2, 2), **same)
    yield conv("conv_1x1_7", "1x512x7x7", "512x512x1x1")
    yield conv("conv_3x3_7", "1x256x7x7", "256x256x3x3", **same)
    yield conv("conv_stem", "1x3x112x112", "32x3x3x3", strides=(2, 2), **same)
    yield conv("conv_stem_7", "1x3x112x112", "64x3x7x7", strides=(2, 2), pads=(3, 3, 3, 3))
    yield conv("conv_patch", "1x3x112x112", "192x3x16x16", strides=(16, 16))
    yield conv("conv_grey", "1x1x64x64", "16x1x3x3", **same)
    yield conv("conv_dilated", IMAGE, "64x64x3x3", dilations=(2, 2), pads=(2, 2, 2, 2))
    yield conv("conv_groups", SMALL, "64x16x3x3", group=4, **same)
    yield conv("conv_odd", "1x10x30x30", "13x10x3x3", **same)
    yield conv("conv_1d", "1x64x512", "64x64x3", pads=(1, 1))
    yield conv("conv_1d_wide", "1x1x16000", "32x1x31", strides=(4,))
    yield conv("conv_3d", "1x8x16x16x16", "16x8x3x3x3", pads=(1,) * 6)
    for k in (3, 5, 7, 31):
        yield conv(f"depthwise_{k}", IMAGE, f"64x1x{k}x{k}", group=64, pads=(k // 2,) * 4)
    yield conv("depthwise_half", SMALL, "64x1x3x3", group=64, strides=(2, 2), **same)
    yield conv("depthwise_1d", "1x64x1024", "64x1x9", group=64, pads=(4, 4))
    yield "conv_transpose_2", "ConvTranspose", ["1x32x32x32", ["32x32x2x2"]], {"strides": (2, 2)}
    yield "conv_transpose_4", "ConvTranspose", ["1x32x32x32", ["32x32x4x4"]], {"strides": (2, 2), "pads": (1, 1, 1, 1)}
    yield "deform_conv", "DeformConv", ["1x16x32x32", ["16x16x3x3"], "1x18x32x32"], same
    for kind in ("Max", "Average"):
        for name, shape, attributes in (("2", SMALL, {"kernel_shape": (2, 2), "strides": (2, 2)}), ("3", IMAGE, {"kernel_shape": (3, 3), **same}),
                                        ("3_half", SMALL, {"kernel_shape": (3, 3), "strides": (2, 2), **same}), ("5", IMAGE, {"kernel_shape": (5, 5), "pads": (2, 2, 2, 2)}),
                                        ("7", SMALL, {"kernel_shape": (7, 7), "strides": (7, 7)}), ("1d", "1x64x1024", {"kernel_shape": (3,), "pads": (1, 1)}),
                                        ("3d", "1x8x16x16x32", {"kernel_shape": (3, 3, 3), "pads": (1,) * 6})):
            yield f"{kind.lower()}pool_{name}", f"{kind}Pool", [shape], attributes
    yield "lppool", "LpPool", [IMAGE], {"kernel_shape": (3, 3), **same}
    yield "globalaveragepool", "GlobalAveragePool", [IMAGE], {}
    yield "globalmaxpool", "GlobalMaxPool", [IMAGE], {}


def quantised():
    scale, zero = np.float32(0.02), np.uint8(3)
    yield "quantize", "QuantizeLinear", [FLAT, scale, zero], {}
    yield "dequantize", "DequantizeLinear", [f"{FLAT}:u8", scale, zero], {}
    yield "dynamic_quantize", "DynamicQuantizeLinear", [FLAT], {}


def rows():
    for group in (unary, binary, reductions, moves, products, windows, quantised):
        yield from group()


def shape_of(text):
    dims, _, kind = text.partition(":")
    return [] if dims == "scalar" else [int(d) for d in dims.split("x")], TYPES[kind or "f32"]


def constant(value, random):
    if not (isinstance(value, list) and isinstance(value[0], str)):
        return np.asarray(value, np.float32 if isinstance(value, float) else None)
    shape, dtype = shape_of(value[0])
    if np.issubdtype(dtype, np.floating):
        return (random.uniform(-1, 1, shape) / max(1.0, np.sqrt(np.prod(shape[1:])))).astype(dtype)
    return random.integers(1, 8, shape).astype(dtype)


def build(name, op, inputs, attributes):
    random = np.random.default_rng(zlib.crc32(name.encode()))
    names, brought, constants = [], [], []
    for i, value in enumerate(inputs):
        names.append("" if value is None else f"x{i}")
        if isinstance(value, str):
            shape, dtype = shape_of(value)
            brought.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        elif value is not None:
            constants.append(numpy_helper.from_array(constant(value, random), names[-1]))
    outputs = [f"y{i}" for i in range(OUTPUTS.get(op, 1))]
    graph = helper.make_graph([helper.make_node(op, names, outputs, **attributes)], name, brought, [onnx.ValueInfoProto(name=o) for o in outputs], constants)
    opset = helper.make_opsetid("", NEW_OPSET if op in NEW else OPSET)
    model = shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[opset], ir_version=10), strict_mode=True)
    for output in model.graph.output:
        if not output.type.tensor_type.elem_type:  # onnx infers nothing of some functions
            output.type.CopyFrom(brought[0].type)
    return model


def catalogue():
    """{name: function that builds the model}."""
    return {f"op_{name}": partial(build, name, op, inputs, attributes) for name, op, inputs, attributes in rows()}
