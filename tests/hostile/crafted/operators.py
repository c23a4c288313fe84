"""One operator, wrongly used, in a way that shows at compile time: attributes out of range or of the wrong type, wrong
numbers of inputs and outputs, element types, ranks and shapes that do not fit, impossible constants."""
import numpy as np
import onnx
from onnx import helper

from . import BOOL, F16, F32, F64, I32, I64, REFUSE, STRING, U8, Case, constant, model, node, value

BIG = 2**63 - 1
SMALL = -2**63
TYPES = {"f32": F32, "f64": F64, "f16": F16, "i32": I32, "i64": I64, "u8": U8, "bool": BOOL, "str": STRING}

# operator: [(what is wrong, inputs, attributes)]; an input is "2x3" (f32), "i64:2x3", a list or array (a constant of
# int64 or float), or "" (left out). Attributes named _opset and _outputs set those of the model and the node.
WRONG = {
    "Conv": [
        ("group_0", ["1x4x5x5", "4x4x3x3"], {"group": 0}),
        ("group_negative", ["1x4x5x5", "4x4x3x3"], {"group": -1}),
        ("group_huge", ["1x4x5x5", "4x4x3x3"], {"group": BIG}),
        ("group_not_dividing", ["1x4x5x5", "4x1x3x3"], {"group": 3}),
        ("group_not_dividing_outputs", ["1x4x5x5", "3x2x3x3"], {"group": 2}),
        ("channels", ["1x4x5x5", "4x3x3x3"], {}),
        ("kernel_larger", ["1x4x2x2", "4x4x3x3"], {}),
        ("kernel_shape_lies", ["1x4x5x5", "4x4x3x3"], {"kernel_shape": [5, 5]}),
        ("kernel_shape_0", ["1x4x5x5", "4x4x3x3"], {"kernel_shape": [0, 3]}),
        ("kernel_shape_rank", ["1x4x5x5", "4x4x3x3"], {"kernel_shape": [3]}),
        ("stride_0", ["1x4x5x5", "4x4x3x3"], {"strides": [0, 1]}),
        ("stride_negative", ["1x4x5x5", "4x4x3x3"], {"strides": [-1, 1]}),
        ("strides_rank", ["1x4x5x5", "4x4x3x3"], {"strides": [1, 1, 1]}),
        ("dilation_0", ["1x4x5x5", "4x4x3x3"], {"dilations": [0, 1]}),
        ("dilation_negative", ["1x4x5x5", "4x4x3x3"], {"dilations": [-2, 1]}),
        ("dilation_huge", ["1x4x5x5", "4x4x3x3"], {"dilations": [BIG, BIG]}),
        ("dilations_rank", ["1x4x5x5", "4x4x3x3"], {"dilations": [1]}),
        ("pads_rank", ["1x4x5x5", "4x4x3x3"], {"pads": [1, 1]}),
        ("pads_huge", ["1x4x5x5", "4x4x3x3"], {"pads": [BIG, 0, BIG, 0]}),
        ("pads_negative_all", ["1x4x5x5", "4x4x3x3"], {"pads": [-3, -3, -3, -3]}),
        ("auto_pad_unknown", ["1x4x5x5", "4x4x3x3"], {"auto_pad": "SAME"}),
        ("rank_1", ["4", "4x4x3x3"], {}),
        ("rank_2", ["1x4", "4x4"], {}),
        ("ranks_differ", ["1x4x5x5", "4x4x3"], {}),
        ("scalar", ["", "4x4x3x3"], {}),
        ("bias_shape", ["1x4x5x5", "4x4x3x3", "5"], {}),
        ("bias_rank", ["1x4x5x5", "4x4x3x3", "1x4"], {}),
        ("int", ["i64:1x4x5x5", "i64:4x4x3x3"], {}),
        ("types_differ", ["1x4x5x5", "f64:4x4x3x3"], {}),
        ("one_input", ["1x4x5x5"], {}),
        ("four_inputs", ["1x4x5x5", "4x4x3x3", "4", "4"], {}),
        ("two_outputs", ["1x4x5x5", "4x4x3x3"], {"_outputs": 2}),
        ("group_float", ["1x4x5x5", "4x4x3x3"], {"group": 1.0}),
        ("pads_floats", ["1x4x5x5", "4x4x3x3"], {"pads": [1.0, 1.0, 1.0, 1.0]}),
        ("pads_string", ["1x4x5x5", "4x4x3x3"], {"pads": "1111"}),
        ("strides_int", ["1x4x5x5", "4x4x3x3"], {"strides": 2}),
        ("unknown_attribute", ["1x4x5x5", "4x4x3x3"], {"speed": 3}),
    ],
    "ConvTranspose": [
        ("group_0", ["1x4x5x5", "4x2x3x3"], {"group": 0}),
        ("group_not_dividing", ["1x4x5x5", "4x2x3x3"], {"group": 3}),
        ("channels", ["1x4x5x5", "3x2x3x3"], {}),
        ("stride_0", ["1x4x5x5", "4x2x3x3"], {"strides": [0, 0]}),
        ("dilation_0", ["1x4x5x5", "4x2x3x3"], {"dilations": [0, 0]}),
        ("output_shape_rank", ["1x4x5x5", "4x2x3x3"], {"output_shape": [5]}),
        ("pads_huge", ["1x4x5x5", "4x2x3x3"], {"pads": [100, 100, 100, 100]}),
    ],
    "MaxPool": [
        ("kernel_missing", ["1x4x5x5"], {}),
        ("kernel_0", ["1x4x5x5"], {"kernel_shape": [0, 0]}),
        ("kernel_negative", ["1x4x5x5"], {"kernel_shape": [-2, 2]}),
        ("kernel_rank", ["1x4x5x5"], {"kernel_shape": [2, 2, 2]}),
        ("kernel_huge", ["1x4x5x5"], {"kernel_shape": [BIG, BIG]}),
        ("kernel_larger", ["1x4x5x5"], {"kernel_shape": [6, 6]}),
        ("stride_0", ["1x4x5x5"], {"kernel_shape": [2, 2], "strides": [0, 0]}),
        ("dilation_0", ["1x4x5x5"], {"kernel_shape": [2, 2], "dilations": [0, 0]}),
        ("ceil_mode_string", ["1x4x5x5"], {"kernel_shape": [2, 2], "ceil_mode": "yes"}),
        ("rank_2", ["4x5"], {"kernel_shape": [2]}),
        ("string", ["str:1x4x5x5"], {"kernel_shape": [2, 2]}),
    ],
    "AveragePool": [
        ("kernel_0", ["1x4x5x5"], {"kernel_shape": [0, 2]}),
        ("stride_0", ["1x4x5x5"], {"kernel_shape": [2, 2], "strides": [0, 1]}),
        ("int", ["i32:1x4x5x5"], {"kernel_shape": [2, 2]}),
    ],
    "GlobalAveragePool": [("rank_1", ["4"], {}), ("string", ["str:1x4x5x5"], {})],
    "Transpose": [
        ("perm_short", ["2x3x4"], {"perm": [1, 0]}),
        ("perm_long", ["2x3x4"], {"perm": [0, 1, 2, 3]}),
        ("perm_repeats", ["2x3x4"], {"perm": [0, 0, 1]}),
        ("perm_range", ["2x3x4"], {"perm": [0, 1, 3]}),
        ("perm_negative", ["2x3x4"], {"perm": [0, 1, -3]}),
        ("perm_huge", ["2x3x4"], {"perm": [0, 1, BIG]}),
        ("perm_minimum", ["2x3x4"], {"perm": [0, 1, SMALL]}),
        ("perm_float", ["2x3x4"], {"perm": [0.0, 1.0, 2.0]}),
        ("no_input", [], {}),
    ],
    "Reshape": [
        ("product", ["2x3", [4, 2]], {}),
        ("two_minus_ones", ["2x3", [-1, -1]], {}),
        ("minus_two", ["2x3", [-2, 3]], {}),
        ("not_dividing", ["2x3", [4, -1]], {}),
        ("zero_beyond", ["2x3", [2, 3, 0]], {}),
        ("huge", ["2x3", [2**62, 2**62]], {}),
        ("wraps_to_six", ["2x3", [2**63 - 1, 2]], {}),
        ("minimum", ["2x3", [SMALL, 1]], {}),
        ("shape_float", ["2x3", [2.0, 3.0]], {}),
        ("shape_rank_2", ["2x3", np.array([[2, 3]])], {}),
        ("shape_scalar", ["2x3", np.array(6)], {}),
        ("shape_missing", ["2x3"], {}),
        ("zero_and_minus_one", ["2x3", [0, -1]], {"allowzero": 1}),
        ("old_without_shape", ["2x3"], {"_opset": 1, "shape": [4, 4]}),
    ],
    "Squeeze": [("axis_not_one", ["2x3", [0]], {}), ("axis_range", ["1x3", [5]], {}),
                ("axis_minimum", ["1x3", [SMALL]], {})],
    "Unsqueeze": [("axis_range", ["2x3", [4]], {}), ("axis_repeats", ["2x3", [0, 0]], {}), ("axis_huge", ["2x3", [BIG]], {}),
                  ("axis_repeats_negative", ["2x3", [0, -4]], {}), ("axes_missing", ["2x3"], {})],
    "Flatten": [("axis_range", ["2x3"], {"axis": 3}), ("axis_low", ["2x3"], {"axis": -3}), ("axis_huge", ["2x3"], {"axis": BIG})],
    "Concat": [
        ("axis_missing", ["2x3", "2x3"], {}),
        ("axis_range", ["2x3", "2x3"], {"axis": 2}),
        ("axis_low", ["2x3", "2x3"], {"axis": -3}),
        ("shapes", ["2x3", "3x4"], {"axis": 0}),
        ("ranks", ["2x3", "2x3x1"], {"axis": 0}),
        ("types", ["2x3", "f64:2x3"], {"axis": 0}),
        ("scalars", [np.float32(1), np.float32(2)], {"axis": 0}),
        ("no_input", [], {"axis": 0}),
        ("axis_float", ["2x3", "2x3"], {"axis": 0.0}),
    ],
    "Split": [
        ("sum", ["4x3", [1, 2]], {"_outputs": 2}),
        ("negative", ["4x3", [5, -1]], {"_outputs": 2}),
        ("count", ["4x3", [2, 2]], {"_outputs": 3}),
        ("not_dividing", ["4x3"], {"_outputs": 3}),
        ("axis_range", ["4x3"], {"_outputs": 2, "axis": 2}),
        ("wraps", ["4x3", [2**63 - 1, 2**63 - 1, 6]], {"_outputs": 3}),
    ],
    "Slice": [
        ("step_0", ["4x3", [0], [2], [0], [0]], {}),
        ("axis_range", ["4x3", [0], [2], [2]], {}),
        ("axis_low", ["4x3", [0], [2], [-3]], {}),
        ("axis_repeats", ["4x3", [0, 0], [1, 1], [0, 0]], {}),
        ("counts", ["4x3", [0, 0], [2]], {}),
        ("starts_rank_2", ["4x3", np.array([[0]]), [2]], {}),
        ("starts_float", ["4x3", [0.0], [2.0]], {}),
        ("too_many", ["4x3", [0, 0, 0], [1, 1, 1]], {}),
        ("ends_missing", ["4x3", [0]], {}),
    ],
    "Gather": [
        ("axis_range", ["4x3", [0]], {"axis": 2}),
        ("axis_low", ["4x3", [0]], {"axis": -3}),
        ("index_range", ["4x3", [4]], {}),
        ("index_low", ["4x3", [-5]], {}),
        ("index_huge", ["4x3", [BIG]], {}),
        ("index_minimum", ["4x3", [SMALL]], {}),
        ("index_float", ["4x3", [0.0]], {}),
        ("scalar", [np.float32(1), [0]], {}),
    ],
    "GatherElements": [("axis_range", ["4x3", "i64:4x3"], {"axis": 2}), ("ranks", ["4x3", "i64:4"], {}),
                       ("shape", ["4x3", "i64:4x5"], {}), ("index_range", ["4x3", np.array([[7]])], {})],
    "GatherND": [("last_dim", ["4x3", "i64:2x3"], {}), ("batch_dims", ["4x3", "i64:4x1"], {"batch_dims": 2}),
                 ("batch_negative", ["4x3", "i64:4x1"], {"batch_dims": -1}), ("index_range", ["4x3", np.array([[9]])], {})],
    "ScatterND": [("last_dim", ["4x3", "i64:2x3", "2"], {}), ("updates", ["4x3", "i64:2x1", "2x4"], {}),
                  ("index_range", ["4x3", np.array([[9]]), "1x3"], {}), ("reduction", ["4x3", "i64:2x1", "2x3"], {"reduction": "avg"})],
    "ScatterElements": [("axis_range", ["4x3", "i64:1x3", "1x3"], {"axis": 2}), ("updates", ["4x3", "i64:1x3", "1x2"], {}),
                        ("reduction", ["4x3", "i64:1x3", "1x3"], {"reduction": "median"})],
    "Expand": [("shape", ["2x3", [4, 3]], {}), ("negative", ["2x3", [-1, 3]], {}), ("huge", ["2x3", [2**62, 2, 3]], {}),
               ("float", ["2x3", [2.0, 3.0]], {}), ("rank_2", ["2x3", np.array([[2, 3]])], {})],
    "Tile": [("count", ["2x3", [2]], {}), ("negative", ["2x3", [-1, 1]], {}), ("huge", ["2x3", [BIG, BIG]], {}),
             ("float", ["2x3", [1.0, 1.0]], {})],
    "Pad": [("count", ["2x3", [1, 1]], {}), ("too_negative", ["2x3", [-3, 0, 0, 0]], {}), ("huge", ["2x3", [BIG, BIG, BIG, BIG]], {}),
            ("mode", ["2x3", [0, 1, 0, 1]], {"mode": "mirror"}),
            ("pads_float", ["2x3", [0.0] * 4], {}), ("pads_missing", ["2x3"], {}), ("minimum", ["2x3", [SMALL, 0, 0, 0]], {}),
            ("axes_range", ["2x3", [1, 1], "", [5]], {"_opset": 18}), ("value_type", ["2x3", [1, 1, 1, 1], "f64:"], {})],
    "MatMul": [("inner", ["2x3", "4x5"], {}), ("scalar", ["2x3", np.float32(2)], {}), ("batch", ["2x2x3", "3x3x4"], {}),
               ("vector", ["3", "4"], {}), ("types", ["2x3", "f64:3x4"], {}), ("string", ["str:2x3", "str:3x4"], {}),
               ("bool", ["bool:2x3", "bool:3x4"], {}), ("one_input", ["2x3"], {}), ("three_inputs", ["2x3", "3x4", "4"], {})],
    "Gemm": [("inner", ["2x3", "4x5"], {}), ("transposed", ["2x3", "3x4"], {"transB": 1}), ("bias", ["2x3", "3x4", "5"], {}),
             ("bias_rank", ["2x3", "3x4", "1x2x4"], {}), ("rank_3", ["1x2x3", "3x4"], {}), ("alpha_string", ["2x3", "3x4"], {"alpha": "1"}),
             ("rank_1", ["3", "3x4"], {}), ("types", ["2x3", "f64:3x4"], {})],
    "Einsum": [("no_equation", ["2x3", "3x4"], {}), ("empty", ["2x3", "3x4"], {"equation": ""}),
               ("count", ["2x3", "3x4"], {"equation": "ij->ij"}), ("rank", ["2x3", "3x4"], {"equation": "ijk,jk->i"}),
               ("sizes", ["2x3", "4x5"], {"equation": "ij,jk->ik"}), ("output", ["2x3", "3x4"], {"equation": "ij,jk->iz"}),
               ("garbage", ["2x3", "3x4"], {"equation": "i*j;->>"}), ("long", ["2x3", "3x4"], {"equation": "ij,jk->" + "ik" * 50000}),
               ("two_arrows", ["2x3", "3x4"], {"equation": "ij->jk->ik"}), ("repeated_output", ["2x3", "3x4"], {"equation": "ij,jk->ii"})],
    "Softmax": [("axis_range", ["2x3"], {"axis": 2}), ("axis_low", ["2x3"], {"axis": -3}), ("int", ["i64:2x3"], {}),
                ("axis_huge", ["2x3"], {"axis": BIG}), ("axis_minimum", ["2x3"], {"axis": SMALL}), ("axis_string", ["2x3"], {"axis": "1"})],
    "LogSoftmax": [("axis_range", ["2x3"], {"axis": 7})],
    "ReduceSum": [("axis_range", ["2x3", [2]], {}), ("axis_low", ["2x3", [-3]], {}), ("axis_huge", ["2x3", [BIG]], {}),
                  ("axes_float", ["2x3", [0.0]], {}), ("string", ["str:2x3"], {}), ("axes_attribute", ["2x3"], {"axes": [0]})],
    "ReduceMean": [("axis_range", ["2x3"], {"axes": [2]}), ("axis_minimum", ["2x3"], {"axes": [SMALL]}), ("bool", ["bool:2x3"], {}),
                   ("axes_input", ["2x3", [0]], {})],
    "ArgMax": [("axis_range", ["2x3"], {"axis": 2}), ("axis_low", ["2x3"], {"axis": -3}), ("bool", ["bool:2x3"], {})],
    "TopK": [("k_large", ["2x3", [4]], {}), ("k_negative", ["2x3", [-1]], {}), ("axis_range", ["2x3", [1]], {"axis": 2, "_outputs": 2}),
             ("k_many", ["2x3", [1, 2]], {"_outputs": 2}), ("k_huge", ["2x3", [BIG]], {"_outputs": 2})],
    "CumSum": [("axis_range", ["2x3", np.array(2)], {}), ("axis_many", ["2x3", [0, 1]], {}), ("string", ["str:2x3", np.array(0)], {})],
    "Cast": [("to_missing", ["2x3"], {}), ("to_0", ["2x3"], {"to": 0}), ("to_9999", ["2x3"], {"to": 9999}), ("to_negative", ["2x3"], {"to": -1}),
             ("to_string_attribute", ["2x3"], {"to": "float"}), ("to_huge", ["2x3"], {"to": BIG}), ("to_complex", ["2x3"], {"to": 14})],
    "Add": [("broadcast", ["2x3", "4x3"], {}), ("broadcast_rank", ["2x3", "2x1x4"], {}), ("types", ["2x3", "i64:2x3"], {}),
            ("bool", ["bool:2x3", "bool:2x3"], {}), ("one_input", ["2x3"], {}), ("three_inputs", ["2x3", "2x3", "2x3"], {}),
            ("no_input", [], {}), ("empty_input", ["2x3", ""], {}), ("two_outputs", ["2x3", "2x3"], {"_outputs": 2}),
            ("attribute", ["2x3", "2x3"], {"axis": 0}), ("old_broadcast_missing", ["2x3", "3x1"], {"_opset": 6})],
    "Mod": [("float_without_fmod", ["2x3", "2x3"], {})],
    "Relu": [("two_inputs", ["2x3", "2x3"], {}), ("string", ["str:2x3"], {}), ("bool", ["bool:2x3"], {}), ("unsigned", ["u8:2x3"], {})],
    "Sigmoid": [("int", ["i32:2x3"], {})],
    "Not": [("float", ["2x3"], {})],
    "And": [("float", ["2x3", "2x3"], {})],
    "Where": [("condition", ["2x3", "2x3", "2x3"], {}), ("broadcast", ["bool:2x3", "4x3", "2x3"], {}), ("types", ["bool:2x3", "2x3", "i64:2x3"], {})],
    "Clip": [("min_rank", ["2x3", "2"], {}), ("min_type", ["2x3", "i64:"], {}), ("old_min_string", ["2x3"], {"_opset": 6, "min": "0"})],
    "BatchNormalization": [("scale", ["1x4x5x5", "3", "4", "4", "4"], {}), ("rank", ["1x4x5x5", "4x1", "4", "4", "4"], {}),
                           ("few", ["1x4x5x5", "4", "4", "4"], {}), ("epsilon_string", ["1x4x5x5", "4", "4", "4", "4"], {"epsilon": "0"}),
                           ("training_outputs", ["1x4x5x5", "4", "4", "4", "4"], {"_outputs": 3})],
    "InstanceNormalization": [("scale", ["1x4x5x5", "3", "4"], {}), ("rank", ["4", "4", "4"], {})],
    "LayerNormalization": [("axis_range", ["2x3", "3"], {"axis": 2}), ("scale", ["2x3", "4"], {}), ("few", ["2x3"], {}),
                           ("stash_type", ["2x3", "3"], {"stash_type": 999})],
    "LRN": [("size_missing", ["1x4x5x5"], {}), ("size_0", ["1x4x5x5"], {"size": 0}), ("size_negative", ["1x4x5x5"], {"size": -3})],
    "LSTM": [("weights", ["5x1x3", "1x7x3", "1x8x2"], {"hidden_size": 2}),
             ("direction", ["5x1x3", "1x8x3", "1x8x2"], {"hidden_size": 2, "direction": "sideways"}),
             ("directions", ["5x1x3", "1x8x3", "1x8x2"], {"hidden_size": 2, "direction": "bidirectional"}),
             ("activation", ["5x1x3", "1x8x3", "1x8x2"], {"hidden_size": 2, "activations": ["Sine", "Tanh", "Tanh"]}),
             ("activations_few", ["5x1x3", "1x8x3", "1x8x2"], {"hidden_size": 2, "activations": ["Tanh"]}),
             ("hidden_negative", ["5x1x3", "1x8x3", "1x8x2"], {"hidden_size": -2}),
             ("hidden_lies", ["5x1x3", "1x8x3", "1x8x2"], {"hidden_size": 3}), ("rank", ["5x3", "1x8x3", "1x8x2"], {"hidden_size": 2}),
             ("layout", ["5x1x3", "1x8x3", "1x8x2"], {"hidden_size": 2, "layout": 7})],
    "GRU": [("weights", ["5x1x3", "1x7x3", "1x6x2"], {"hidden_size": 2}), ("bias", ["5x1x3", "1x6x3", "1x6x2", "1x11"], {"hidden_size": 2})],
    "Resize": [("scales_count", ["1x1x2x2", "", [1.0, 2.0]], {}), ("scales_negative", ["1x1x2x2", "", [1.0, 1.0, -2.0, 2.0]], {}),
               ("scales_0", ["1x1x2x2", "", [1.0, 1.0, 0.0, 2.0]], {}), ("scales_nan", ["1x1x2x2", "", [1.0, 1.0, float("nan"), 2.0]], {}),
               ("sizes_negative", ["1x1x2x2", "", "", [1, 1, -4, 4]], {}), ("neither", ["1x1x2x2"], {}),
               ("both", ["1x1x2x2", "", [1.0, 1.0, 2.0, 2.0], [1, 1, 4, 4]], {}),
               ("mode", ["1x1x2x2", "", [1.0, 1.0, 2.0, 2.0]], {"mode": "lanczos"}),
               ("transformation", ["1x1x2x2", "", [1.0, 1.0, 2.0, 2.0]], {"coordinate_transformation_mode": "diagonal"})],
    "DepthToSpace": [("blocksize_missing", ["1x4x2x2"], {}), ("blocksize_0", ["1x4x2x2"], {"blocksize": 0}),
                     ("blocksize_negative", ["1x4x2x2"], {"blocksize": -2}), ("not_dividing", ["1x4x2x2"], {"blocksize": 3}),
                     ("blocksize_huge", ["1x4x2x2"], {"blocksize": 2**32}), ("mode", ["1x4x2x2"], {"blocksize": 2, "mode": "XYZ"}),
                     ("rank", ["4x2x2"], {"blocksize": 2})],
    "SpaceToDepth": [("blocksize_0", ["1x1x4x4"], {"blocksize": 0}), ("not_dividing", ["1x1x4x4"], {"blocksize": 3})],
    "QuantizeLinear": [("axis_range", ["2x3", "3", "u8:3"], {"axis": 2}), ("scale_shape", ["2x3", "4", "u8:4"], {"axis": 1}),
                       ("zero_type", ["2x3", "", "f32:"], {}), ("scale_rank", ["2x3", "2x3"], {}), ("input_type", ["u8:2x3", np.float32(1)], {})],
    "DequantizeLinear": [("scale_shape", ["u8:2x3", "4"], {"axis": 1}), ("zero_shape", ["u8:2x3", "3", "u8:2"], {"axis": 1}),
                         ("float", ["2x3", np.float32(1)], {}), ("zero_type", ["u8:2x3", np.float32(1), "i32:"], {})],
    "QLinearConv": [("few", ["u8:1x1x3x3", np.float32(1)], {})],
    "Constant": [("none", [], {}), ("two", [], {"value_int": 1, "value_float": 1.0}), ("wrong_type", [], {"value_int": "1"}),
                 ("input", ["2x3"], {"value_int": 1})],
    "ConstantOfShape": [("negative", [[-1, 2]], {}), ("rank_2", [np.array([[2, 3]])], {}), ("float", [[2.0, 3.0]], {}),
                        ("value_many", [[2, 3]], {"value": constant("v", [1.0, 2.0], np.float32)})],
    "Shape": [("no_input", [], {}), ("two_outputs", ["2x3"], {"_outputs": 2}), ("start_string", ["2x3"], {"start": "0"})],
    "Range": [("step_0", [np.int64(0), np.int64(5), np.int64(0)], {}), ("types", [np.int64(0), np.float32(5), np.int64(1)], {}),
              ("step_nan", [np.float32(0), np.float32(5), np.float32("nan")], {})],
    "OneHot": [("depth_negative", ["i64:3", np.array(-2), [0.0, 1.0]], {}), ("values_count", ["i64:3", np.array(4), [0.0, 1.0, 2.0]], {}),
               ("axis_range", ["i64:3", np.array(4), [0.0, 1.0]], {"axis": 3}), ("depth_many", ["i64:3", [2, 3], [0.0, 1.0]], {})],
    "EyeLike": [("rank_1", ["3"], {}), ("dtype", ["3x3"], {"dtype": 9999})],
    "Trilu": [("rank_1", ["3"], {}), ("k_many", ["3x3", [1, 2]], {})],
    "PRelu": [("slope", ["2x3", "4"], {})],
    "LeakyRelu": [("alpha_ints", ["2x3"], {"alpha": [1, 2]}), ("alpha_int", ["2x3"], {"alpha": 1})],
    "Gelu": [("approximate", ["2x3"], {"_opset": 20, "approximate": "magic"})],
    "Identity": [("no_output", ["2x3"], {"_outputs": 0}), ("no_input", [], {})],
    "Dropout": [("ratio_many", ["2x3", "2"], {}), ("training_float", ["2x3", np.float32(0.5), np.float32(1)], {})],
    "NonMaxSuppression": [("boxes", ["1x4x5", "1x1x4"], {}), ("batch", ["2x4x4", "1x1x4"], {}), ("rank", ["4x4", "1x1x4"], {}),
                          ("center", ["1x4x4", "1x1x4"], {"center_point_box": 2})],
    "RoiAlign": [("rois", ["1x1x4x4", "2x5", "i64:2"], {}), ("mode", ["1x1x4x4", "2x4", "i64:2"], {"mode": "sum"})],
    "GridSample": [("rank", ["1x1x4x4", "1x2x2x3"], {}), ("mode", ["1x1x4x4", "1x2x2x2"], {"mode": "best"})],
    "Upsample": [("scales", ["2x3", [1.0]], {"_opset": 9}), ("scale_below_one", ["2x3", [0.0, 1.0]], {"_opset": 9})],
    "DFT": [("last_dim", ["1x4x3"], {}), ("axis", ["1x4x1"], {"axis": 9})],
    "SequenceAt": [("tensor", ["2x3", np.array(0)], {})],
    "ConcatFromSequence": [("tensor", ["2x3"], {"axis": 0})],
    "BitShift": [("direction", ["u8:2", "u8:2"], {"direction": "UP"}), ("missing", ["u8:2", "u8:2"], {}), ("signed", ["i32:2", "i32:2"], {"direction": "LEFT"})],
    "Compress": [("condition", ["2x3", "2"], {}), ("axis", ["2x3", "bool:2"], {"axis": 2})],
    "HardSigmoid": [("alpha_string", ["2x3"], {"alpha": "x"})],
    "Hardmax": [("axis", ["2x3"], {"axis": 2})],
    "LpNormalization": [("p", ["2x3"], {"p": 3}), ("axis", ["2x3"], {"axis": 2})],
    "LpPool": [("kernel_missing", ["1x4x5x5"], {}), ("p_0", ["1x4x5x5"], {"kernel_shape": [2, 2], "p": 0})],
    "Multinomial": [("size", ["2x3"], {"sample_size": 0}), ("dtype", ["2x3"], {"dtype": 1})],
    "RandomUniform": [("shape_missing", [], {}), ("negative", [], {"shape": [-2, 3]}), ("dtype", [], {"shape": [2], "dtype": 7})],
    "Max": [("no_input", [], {}), ("broadcast", ["2x3", "4x4"], {}), ("types", ["2x3", "f64:2x3"], {})],
    "MaxUnpool": [("kernel_missing", ["1x1x2x2", "i64:1x1x2x2"], {}), ("indices", ["1x1x2x2", "i64:1x1x3x3"], {"kernel_shape": [2, 2]})],
    "ReverseSequence": [("lengths", ["4x3", "i64:5"], {}), ("axes_equal", ["4x3", "i64:3"], {"batch_axis": 1, "time_axis": 1})],
    "TfIdfVectorizer": [("mode_missing", ["i64:5"], {"min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
                                                     "ngram_counts": [0], "ngram_indexes": [0], "pool_int64s": [1]}),
                        ("counts", ["i64:5"], {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
                                               "ngram_counts": [BIG], "ngram_indexes": [0], "pool_int64s": [1]}),
                        ("indexes", ["i64:5"], {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
                                                "ngram_counts": [0], "ngram_indexes": [-1], "pool_int64s": [1]})],
}
OUTPUT_TYPES = {  # of the operators whose results are not f32, so that nothing but the row's fault is to be found
    "ArgMax": [I64], "Shape": [I64], "NonMaxSuppression": [I64], "TopK": [F32, I64], "MaxPool": [F32, I64],
    "QuantizeLinear": [U8], "QLinearConv": [U8], "Not": [BOOL], "And": [BOOL], "BitShift": [U8], "Multinomial": [I32],
    "Constant": [I64], "Range": [I64],
}
TREE = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0], "nodes_values": [0.5, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0], "n_targets": 1}
WRONG_TREES = [  # what replaces attributes of a right tree; None removes one
    ("circle", {"nodes_truenodeids": [0, 0, 0]}), ("child_missing", {"nodes_truenodeids": [9, 0, 0]}),
    ("child_negative", {"nodes_falsenodeids": [-1, 0, 0]}), ("feature_range", {"nodes_featureids": [99, 0, 0]}),
    ("feature_negative", {"nodes_featureids": [-1, 0, 0]}), ("feature_huge", {"nodes_featureids": [BIG, 0, 0]}),
    ("mode_unknown", {"nodes_modes": ["BRANCH_MAYBE", "LEAF", "LEAF"]}), ("counts_differ", {"nodes_values": [0.5]}),
    ("target_range", {"target_ids": [0, 5]}), ("target_negative", {"target_ids": [0, -1]}), ("targets_0", {"n_targets": 0}),
    ("targets_negative", {"n_targets": -1}), ("targets_huge", {"n_targets": BIG}), ("leaf_missing", {"target_nodeids": [1, 7]}),
    ("modes_missing", {"nodes_modes": None}), ("nodes_twice", {"nodes_nodeids": [0, 1, 1]}),
    ("post_transform", {"post_transform": "SQUARE"}), ("aggregate", {"aggregate_function": "MODE"}),
]


def inputs_of(specs):
    """(names, graph inputs, initializers) of a row's inputs."""
    names, inputs, initializers = [], [], []
    for i, spec in enumerate(specs):
        name = f"i{i}"
        if isinstance(spec, str) and spec == "":
            names.append("")
            continue
        names.append(name)
        if isinstance(spec, str):
            kind, _, dims = spec.rpartition(":")
            shape = [int(d) for d in dims.split("x")] if dims else []
            inputs.append(value(name, TYPES[kind or "f32"], shape))
        else:
            array = np.asarray(spec)
            initializers.append(constant(name, array.astype(np.float32) if array.dtype == np.float64 else array))
    return names, inputs, initializers


def single(op, specs, attributes, domain="", imports=()):
    attributes = dict(attributes)
    opset, n_outputs = attributes.pop("_opset", 17), attributes.pop("_outputs", 1)
    names, inputs, initializers = inputs_of(specs)
    outputs = [f"o{i}" for i in range(n_outputs)]
    made = node(op, names, outputs, domain=domain, **attributes)
    results = []
    types = OUTPUT_TYPES.get(op, [F32] * n_outputs)
    for name, number in zip(outputs, types):  # of unknown shape, which follows from the operator
        results.append(onnx.ValueInfoProto(name=name))
        results[-1].type.tensor_type.elem_type = number
    return model([made], inputs, results or [value("i0", F32, (2, 3))], initializers, opset=opset, imports=imports)


def trees():
    for what, change in WRONG_TREES:
        attributes = {k: v for k, v in {**TREE, **change}.items() if v is not None}
        yield Case(f"TreeEnsembleRegressor_{what}", REFUSE,
                   single("TreeEnsembleRegressor", ["2x3"], attributes, "ai.onnx.ml", [("ai.onnx.ml", 3)]))


def attribute_shapes():
    """Attributes whose message is wrong in itself, on an operator that has them optional."""
    def bent(change):
        built = single("Softmax", ["2x3"], {"axis": 1})
        change(built.graph.node[0].attribute)
        return built
    yield "twice", bent(lambda a: a.append(helper.make_attribute("axis", 0)))
    yield "no_name", bent(lambda a: a.append(onnx.AttributeProto(type=2, i=1)))
    yield "type_lies", bent(lambda a: setattr(a[0], "type", onnx.AttributeProto.FLOAT))
    yield "megabyte_of_ints", bent(lambda a: a[0].ints.extend(range(200000)) or setattr(a[0], "type", onnx.AttributeProto.INTS))


def cases():
    for op, rows in WRONG.items():
        for what, specs, attributes in rows:
            yield Case(f"{op}_{what}", REFUSE, single(op, specs, attributes))
    yield from trees()
    for name, built in attribute_shapes():
        yield Case(f"attribute_{name}", REFUSE, built)
