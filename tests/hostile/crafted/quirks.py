"""What real files do although the standard does not have it so, or hardly: it has to work."""
import numpy as np
import onnx
from onnx import TensorProto, helper

from . import (ACCEPT, ANY, F32, I64, Case, constant, graph, message, model, node, ramp, relu_data, relu_model, to_bytes, value, varint)

SHAPE = (2, 3)
X, Y, Z = value("x", F32, SHAPE), value("y", F32, SHAPE), value("z", F32, SHAPE)


def halves():
    return np.full(SHAPE, 0.5, np.float32)


def good(x):
    """(name, model, [inputs], [outputs])"""
    half, up = constant("w", halves()), np.maximum(x, 0)
    yield "order_reversed", model([node("Neg", ["b"], ["y"]), node("Relu", ["a"], ["b"]), node("Neg", ["x"], ["a"])], [X], [Y]), \
        [x], [-np.maximum(-x, 0)]
    yield "order_of_1000_reversed", model([node("Neg", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < 999 else "y"])
                                           for i in reversed(range(1000))], [X], [Y]), [x], [x]
    yield "domain_ai_onnx", model([node("Relu", ["x"], ["y"], domain="ai.onnx")], [X], [Y]), [x], [up]
    yield "domain_ai_onnx_imported", only_import("ai.onnx"), [x], [up]
    yield "domain_both_spellings", model([node("Relu", ["x"], ["t"], domain="ai.onnx"), node("Neg", ["t"], ["y"])], [X], [Y],
                                         imports=[("ai.onnx", 17)]), [x], [-up]
    yield "initializer_as_input", model([node("Add", ["x", "w"], ["y"])], [X, value("w", F32, SHAPE)], [Y], [half], ir=3, opset=8), \
        [x], [x + halves()]
    yield "initializer_as_input_new_ir", model([node("Add", ["x", "w"], ["y"])], [X, value("w", F32, SHAPE)], [Y], [half]), \
        [x], [x + halves()]
    yield "input_unused", model([node("Relu", ["x"], ["y"])], [X, value("other", I64, (7,))], [Y]), \
        [x, np.arange(7)], [up]
    yield "initializer_unused", model([node("Relu", ["x"], ["y"])], [X], [Y], [half]), [x], [up]
    yield "node_unused", model([node("Relu", ["x"], ["y"]), node("Exp", ["x"], ["t"])], [X], [Y]), [x], [up]
    yield "output_is_input", model([node("Relu", ["x"], ["y"])], [X], [Y, X]), [x], [up, x]
    yield "only_output_is_input", model([], [X], [X]), [x], [x]
    yield "output_is_initializer", model([node("Relu", ["x"], ["y"])], [X], [Y, value("w", F32, SHAPE)], [half]), [x], [up, halves()]
    yield "only_output_is_initializer", model([], [], [value("w", F32, SHAPE)], [half]), [], [halves()]
    yield "output_is_used_inside", model([node("Relu", ["x"], ["y"]), node("Neg", ["y"], ["z"])], [X], [Y, Z]), [x], [up, -up]
    yield "same_value_two_outputs", model([node("Relu", ["x"], ["t"]), node("Identity", ["t"], ["y"]), node("Identity", ["t"], ["z"])],
                                          [X], [Y, Z]), [x], [up, up]
    yield "input_twice_in_node", model([node("Add", ["x", "x"], ["y"])], [X], [Y]), [x], [x + x]
    yield "trailing_empty_input", model([node("Clip", ["x", "", ""], ["y"])], [X], [Y]), [x], [x]
    yield "optional_input_skipped", model([node("Clip", ["x", "", "m"], ["y"])], [X], [Y], [constant("m", 1.0, np.float32)]), \
        [x], [np.minimum(x, 1)]
    yield "optional_output_skipped", model([node("Dropout", ["x"], ["y", ""])], [X], [Y]), [x], [x]
    yield "output_without_shape", model([node("Relu", ["x"], ["y"])], [X], [value("y", F32, None)]), [x], [up]
    yield "value_info_repeated", repeated_value_info(), [x], [up]
    yield "deprecated_upsample_7", model([node("Upsample", ["x"], ["y"], mode="nearest", scales=[1.0, 2.0])], [X],
                                         [value("y", F32, (2, 6))], opset=7), [x], [np.repeat(x, 2, axis=1)]
    yield "deprecated_upsample_9", model([node("Upsample", ["x", "s"], ["y"], mode="nearest")], [X], [value("y", F32, (2, 6))],
                                         [constant("s", [1, 2], np.float32)], opset=9), [x], [np.repeat(x, 2, axis=1)]
    yield "deprecated_scatter", model([node("Scatter", ["x", "i", "u"], ["y"], axis=0)], [X], [Y],
                                      [constant("i", [[1, 0, 1]], np.int64), constant("u", [[9, 8, 7]], np.float32)], opset=9), \
        [x], [scattered(x)]
    yield "old_broadcast", model([node("Add", ["x", "b"], ["y"], broadcast=1, axis=0)], [X], [Y],
                                 [constant("b", [10, 20], np.float32)], opset=6, ir=3), [x], [x + np.float32([[10], [20]])]
    yield "old_dropout", model([node("Dropout", ["x"], ["y"], ratio=0.9, is_test=1)], [X], [Y], opset=6, ir=3), [x], [x]
    yield "constant_as_node", model([node("Constant", [], ["w"], value=constant("", halves())), node("Add", ["x", "w"], ["y"])],
                                    [X], [Y]), [x], [x + halves()]
    yield "floats_one_by_one", model([node("Add", ["x", "w"], ["y"])], [X], [Y], [helper.make_tensor("w", F32, SHAPE, [0.5] * 6)]), \
        [x], [x + halves()]
    yield "raw_data_empty_tensor", empty_concat(), [x], [x]
    yield "negative_dim_is_dynamic", model([node("Relu", ["x"], ["y"])], [value("x", F32, (-1, 3))], [value("y", F32, (-1, 3))]), \
        [x], [up]
    yield "dim_without_value", model([node("Relu", ["x"], ["y"])], [value("x", F32, (None, 3))], [value("y", F32, (None, 3))]), [x], [up]
    yield "metadata_and_training", with_extras(), [x], [up]


def only_import(domain):
    built = relu_model()
    built.opset_import[0].domain = domain
    return built


def scattered(x):
    y = x.copy()
    y[1, 0], y[0, 1], y[1, 2] = 9, 8, 7
    return y


def repeated_value_info():
    built = relu_model()
    built.graph.value_info.extend([value("x", F32, SHAPE), value("y", F32, SHAPE), value("gone", F32, (9,))])
    return built


def empty_concat():
    nothing = TensorProto(name="e", data_type=F32, dims=[0, 3])
    return model([node("Concat", ["x", "e"], ["y"], axis=0)], [X], [Y], [nothing])


def with_extras():
    built = relu_model()
    helper.set_model_props(built, {"author": "nobody", "": "empty key"})
    info = built.training_info.add()
    info.algorithm.CopyFrom(graph([node("NoSuchTrainer", ["x"], ["q"])], [], []))
    built.graph.quantization_annotation.add(tensor_name="x")
    return built


def encodings():
    """The same model in other encodings that protobuf readers have to take: (name, expect, bytes)."""
    built = relu_model()
    plain = to_bytes(built)
    head, body = to_bytes(onnx.ModelProto(ir_version=8, opset_import=built.opset_import)), built.graph.SerializeToString()
    yield "graph_before_head", ACCEPT, message(7, body) + head
    yield "graph_in_two_pieces", ANY, head + message(7, onnx.GraphProto(name="g", node=built.graph.node).SerializeToString()) + \
        message(7, onnx.GraphProto(input=built.graph.input, output=built.graph.output).SerializeToString())
    yield "scalar_twice_last_wins", ACCEPT, varint(1 << 3) + varint(5) + plain
    yield "long_varints", ACCEPT, b"\x08\x88\x80\x80\x00" + plain[2:]
    tensor = TensorProto(name="w", data_type=F32, raw_data=halves().tobytes()).SerializeToString()
    added = model([node("Add", ["x", "w"], ["y"])], [X], [Y]).graph.SerializeToString()
    for name, dims in (("packed", message(1, b"\x02\x03")), ("unpacked", b"\x08\x02\x08\x03"),
                       ("mixed", b"\x08\x02" + message(1, b"\x03"))):
        yield f"dims_{name}", ACCEPT, head + message(7, added + message(5, dims + tensor))


def cases():
    x = ramp(SHAPE)
    for name, built, inputs, outputs in good(x):
        yield Case(name, ACCEPT, built, data=[(inputs, outputs)])
    for name, expect, data in encodings():
        result = x + halves() if name.startswith("dims") else np.maximum(x, 0)
        yield Case(f"encoding_{name}", expect, data, data=[([x], [result])] if expect == ACCEPT else [])
    fused = model([node("FusedMatMul", ["x", "w"], ["y"], domain="com.microsoft")], [X], [value("y", F32, (2, 2))],
                  [constant("w", np.ones((3, 2), np.float32))])
    yield Case("domain_not_imported", ACCEPT, fused, data=[([x], [x @ np.ones((3, 2), np.float32)])])
    yield Case("unsupported_node_unused", ANY, model([node("Relu", ["x"], ["y"]), node("NoSuchThing", ["x"], ["t"])], [X], [Y]))
    twins = model([node("Relu", ["x"], ["t"], name="n"), node("Neg", ["t"], ["y"], name="n")], [X], [Y])
    yield Case("node_names_equal", ANY, twins, data=[([x], [-np.maximum(x, 0)])])
    yield Case("plain", ACCEPT, relu_model(), data=relu_data())
