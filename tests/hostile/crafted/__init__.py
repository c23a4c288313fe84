"""The crafted part of the hostile corpus: one module a kind of trouble, each with a `cases()` that yields Case."""
import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ACCEPT, REFUSE, ANY = "accept", "refuse", "any"
OPSET, IR = 17, 8
F32, F64, F16 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16
I32, I64, U8, BOOL, STRING = TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.BOOL, TensorProto.STRING
DIRECTORY, FIFO = object(), object()  # values of Case.files beside bytes and Link

node = helper.make_node


@dataclasses.dataclass
class Link:
    target: str


@dataclasses.dataclass
class Case:
    """A file and what castnet has to make of it.

    accept: exit 0, or a refusal that names what is not supported yet; with data, `castnet check` has to agree
    refuse: exit 1 with a diagnostic
    any:    either of them
    """
    name: str
    expect: str
    model: object  # bytes, a ModelProto, or anything that Case.files takes
    why: str = ""
    files: dict = dataclasses.field(default_factory=dict)  # beside the model: path → bytes, Link, DIRECTORY or FIFO
    data: list = dataclasses.field(default_factory=list)   # [([inputs], [outputs])] as arrays
    file: str = "model.onnx"


def value(name, dtype=F32, shape=()):
    """A graph input or output; shape None leaves the rank open, a str in it names a dimension."""
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name, array, dtype=None):
    array = np.asarray(array) if dtype is None else np.asarray(array, dtype)
    return numpy_helper.from_array(array, name)


def graph(nodes, inputs, outputs, initializers=(), name="g"):
    return helper.make_graph(list(nodes), name, list(inputs), list(outputs), list(initializers))


def model(nodes, inputs, outputs, initializers=(), opset=OPSET, ir=IR, functions=(), imports=(), name="g"):
    built = helper.make_model(graph(nodes, inputs, outputs, initializers, name), ir_version=ir, functions=list(functions),
                              opset_imports=[helper.make_opsetid("", opset),
                                             *(helper.make_opsetid(d, v) for d, v in imports)])
    built.producer_name = ""
    return built


def relu_model(shape=(2, 3), **options):
    """The smallest useful model, to hang trouble on."""
    return model([node("Relu", ["x"], ["y"], name="r")], [value("x", F32, shape)], [value("y", F32, shape)], **options)


def relu_data(shape=(2, 3)):
    x = ramp(shape)
    return [([x], [np.maximum(x, 0)])]


def ramp(shape, dtype=np.float32):
    """Small numbers of both signs, all different."""
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) - count // 2).astype(dtype)


def message(field, payload):
    """A length-delimited protobuf field."""
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def to_bytes(held):
    return held.SerializeToString(deterministic=True) if isinstance(held, onnx.ModelProto) else held
