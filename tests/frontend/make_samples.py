#!/usr/bin/env python3
"""Writes models and data files with what no conformance case has, for compare.py: every element type in raw and typed
fields, packed and unpacked lists, sparse tensors, external data, functions, maps, every kind of type and attribute.

usage: make_samples.py DIRECTORY
"""
import os
import sys

import onnx
from onnx import AttributeProto, TensorProto, TypeProto, helper

INT64, FLOAT, STRING = TensorProto.INT64, TensorProto.FLOAT, TensorProto.STRING
BITS_OF = {2: (25, 26), 4: (21, 22, 23), 8: (2, 3, 9, 17, 18, 19, 20, 24), 16: (4, 5, 10, 16), 32: (1, 6, 12),
           64: (7, 11, 13, 14), 128: (15,)}
BITS = {t: bits for bits, listed in BITS_OF.items() for t in listed}
COUNT = 5


def raw_tensor(data_type, name):
    size = (COUNT * BITS[data_type] + 7) // 8
    return TensorProto(name=name, data_type=data_type, dims=[COUNT, 1], raw_data=bytes(range(1, size + 1)))


def typed_tensor(data_type, name):
    t = TensorProto(name=name, data_type=data_type, dims=[COUNT])
    entries = (COUNT * BITS[data_type] + 7) // 8 if BITS[data_type] < 8 else COUNT
    if data_type in (1, 14):
        t.float_data.extend([1.5, -0.0, float("inf"), 1e-42, 3] * (2 if data_type == 14 else 1))
    elif data_type in (11, 15):
        t.double_data.extend([1.5, -0.0, float("-inf"), 5e-324, 3] * (2 if data_type == 15 else 1))
    elif data_type == INT64:
        t.int64_data.extend([0, 1, -1, 2**63 - 1, -2**63])
    elif data_type in (12, 13):
        t.uint64_data.extend([0, 1, 127, 128, 2**32 - 1 if data_type == 12 else 2**64 - 1])
    else:
        low = -1 if data_type in (3, 5, 6) else 0
        t.int32_data.extend([low, 1, 2, 127, 2**(min(BITS[data_type], 31) - 1) - 1][:entries])
    return t


def string_tensor(name):
    return TensorProto(name=name, data_type=STRING, dims=[3], string_data=[b"", b"a\0\xff", "ü".encode() * 100])


def sparse_tensor(name):
    values = TensorProto(name=name, data_type=FLOAT, dims=[2], float_data=[1, 2])
    indices = TensorProto(data_type=INT64, dims=[2], int64_data=[3, 4])
    return onnx.SparseTensorProto(values=values, indices=indices, dims=[3, 4])


def tensor_type(*shape):
    return helper.make_tensor_type_proto(FLOAT, list(shape))


def types():
    opaque = TypeProto(denotation="d")
    opaque.opaque_type.domain, opaque.opaque_type.name = "dom", ""
    empty_dim = tensor_type(1, "n", None)
    empty_dim.tensor_type.shape.dim.add(dim_param="")
    return [tensor_type(), helper.make_tensor_type_proto(FLOAT, None), empty_dim, TypeProto(), opaque,
            helper.make_sparse_tensor_type_proto(FLOAT, [3, 4]), helper.make_sequence_type_proto(tensor_type(2)),
            helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor_type("n"))),
            helper.make_map_type_proto(INT64, helper.make_map_type_proto(STRING, tensor_type())),
            TypeProto(sequence_type=TypeProto.Sequence()), TypeProto(map_type=TypeProto.Map())]


def attributes(graph):
    make = helper.make_attribute
    reference = AttributeProto(name="ref", ref_attr_name="outer", type=AttributeProto.FLOAT)
    untyped = AttributeProto(name="untyped", f=-0.0)
    return [make("f", 1.25), make("i", -5), make("s", b"\xff\0"), make("t", raw_tensor(10, "")), make("g", graph),
            make("tp", tensor_type(1)), make("sparse", sparse_tensor("s")), make("floats", [1.0, -0.0]),
            make("ints", [0, -1, 2**62]), make("strings", ["a", b""]),
            make("tensors", [raw_tensor(1, "a"), string_tensor("b")]), make("graphs", [graph, graph]),
            make("types", [tensor_type(1), TypeProto()]), make("sparses", [sparse_tensor("s"), sparse_tensor("")]),
            reference, untyped, AttributeProto()]


def unpacked(message, field, wire):
    """The bytes of a message with its list behind it unpacked, as old writers did."""
    return message.SerializeToString() + b"".join(bytes([field << 3 | wire[0]]) + w for w in wire[1])


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.SerializeToString())


def everything():
    inner = helper.make_graph([helper.make_node("Op", ["", "a"], ["b"], domain="dom")], "inner", [], [])
    node = helper.make_node("Op", ["x"], ["y"], name="node", domain="")
    node.overload = "o"
    node.attribute.extend(attributes(inner))
    tensors = [fn(t, f"{fn.__name__}{t}") for t in BITS for fn in (raw_tensor, typed_tensor)]
    tensors += [string_tensor("s"), TensorProto(name="empty", data_type=FLOAT, dims=[2, 0])]
    values = [helper.make_value_info(f"v{i}", t) for i, t in enumerate(types())] + [onnx.ValueInfoProto(name="untyped")]
    graph = helper.make_graph([node, onnx.NodeProto()], "graph", values[:4], values[4:], tensors, value_info=values)
    graph.sparse_initializer.extend([sparse_tensor("sp")])
    function = helper.make_function("dom", "Op", ["a"], ["b"], [node], [helper.make_opsetid("", 20)], ["outer"],
                                    [helper.make_attribute("k", 1)], overload="o", value_info=values)
    model = helper.make_model(graph, functions=[function, onnx.FunctionProto()], producer_name="", doc_string="ü")
    helper.set_model_props(model, {"key": "value", "": ""})
    return model


def data_sets(top):
    """A model whose inputs are of every kind that a data file can have."""
    make_map = helper.make_map_type_proto
    kinds = [make_map(INT64, tensor_type()), make_map(STRING, tensor_type()), types()[5], types()[6], types()[7]]
    tensors = [raw_tensor(1, ""), typed_tensor(7, "b")]
    values = onnx.SequenceProto(elem_type=1, tensor_values=tensors)
    sequence = onnx.SequenceProto(elem_type=3, name="n", sequence_values=[values, onnx.SequenceProto()])
    files = [onnx.MapProto(key_type=INT64, keys=[-1, 7], values=values),
             onnx.MapProto(key_type=STRING, string_keys=[b"", b"\0"], values=values), sparse_tensor("sp"), sequence,
             onnx.OptionalProto(elem_type=3, sequence_value=sequence)]
    inputs = [helper.make_value_info(f"x{i}", t) for i, t in enumerate(kinds)]
    write(f"{top}/model.onnx", helper.make_model(helper.make_graph([], "g", inputs, [])))
    for i, f in enumerate(files):
        write(f"{top}/test_data_set_0/input_{i}.pb", f)
    for i in range(len(files)):  # empty messages, where that is a value
        if i > 2:
            write(f"{top}/test_data_set_1/input_{i}.pb", b"")


def external(top):
    tensors = []
    for i, (location, offset) in enumerate((("w.bin", None), ("sub/w.bin", 3), ("./w.bin", 7))):
        t = TensorProto(name=f"w{i}", data_type=2, dims=[5], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", location), ("offset", offset), ("length", 5)):
            if value is not None:
                t.external_data.add(key=key, value=str(value))
        tensors.append(t)
    write(f"{top}/model.onnx", helper.make_model(helper.make_graph([], "g", [], [], tensors)))
    write(f"{top}/w.bin", b"0123456789abcdef")
    write(f"{top}/sub/w.bin", b"ABCDEFGHIJKLMNOP")


def lists(top):
    """Packed and unpacked numbers in one field."""
    floats = unpacked(TensorProto(data_type=FLOAT, dims=[3], float_data=[1]), 4, (5, [b"\0\0\x80\x3f", b"\0\0\0\x40"]))
    ints = unpacked(TensorProto(data_type=3, dims=[3], int32_data=[-1]), 5, (0, [b"\x07", b"\xff" * 9 + b"\x01"]))
    inputs = [helper.make_tensor_value_info(n, FLOAT, None) for n in "ab"]
    write(f"{top}/model.onnx", helper.make_model(helper.make_graph([], "g", inputs, [])))
    write(f"{top}/test_data_set_0/input_0.pb", floats)
    write(f"{top}/test_data_set_0/input_1.pb", ints)


def main(top):
    write(f"{top}/everything/model.onnx", everything())
    data_sets(f"{top}/data_sets")
    external(f"{top}/external")
    lists(f"{top}/lists")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
