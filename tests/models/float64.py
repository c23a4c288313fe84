#!/usr/bin/env python3
"""Evaluate a convolutional model in float64: the judge where a recorded output is in doubt.

  float64.py MODEL.onnx DATA_SET_DIR [OUT_DIR]

prints how far each recorded output of the data set lies from the evaluation, and writes a data set with the evaluated
outputs in place of the recorded ones. Convolutions, normalisations and deprecated image operators by the standard's formulas, all else by onnx's
reference evaluation.
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator


def taps(x, kernel, stride, out, dilation=(1, 1)):
    """[(i, j, the pixels of x that tap i, j reads for every output pixel)]"""
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            y0, x0 = i * dilation[0], j * dilation[1]
            yield i, j, x[:, :, y0:y0 + stride[0] * (out[0] - 1) + 1:stride[0], x0:x0 + stride[1] * (out[1] - 1) + 1:stride[1]]


def channels(v):
    return v.reshape(1, -1, 1, 1)


def conv(a, x, w, bias=None):
    top, left, bottom, right = a.get("pads", [0, 0, 0, 0])
    stride, dilation, groups = a.get("strides", [1, 1]), a.get("dilations", [1, 1]), a.get("group", 1)
    assert a.get("auto_pad", b"") in (b"", b"NOTSET", b"VALID")
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    out = [(x.shape[2 + k] - (w.shape[2 + k] - 1) * dilation[k] - 1) // stride[k] + 1 for k in (0, 1)]
    y = np.zeros((x.shape[0], groups, w.shape[0] // groups, *out))
    parted = w.reshape(groups, -1, *w.shape[1:])
    for i, j, pixels in taps(x, w.shape[2:], stride, out, dilation):
        y += np.einsum("gmc,ngchw->ngmhw", parted[..., i, j], pixels.reshape(x.shape[0], groups, -1, *out), optimize=True)
    y = y.reshape(x.shape[0], -1, *out)
    return y if bias is None else y + channels(bias)


def conv_transpose(a, x, w, bias=None):
    """Without padding; an output_shape beyond the natural one grows at the end."""
    stride = a.get("strides", [1, 1])
    assert a.get("group", 1) == 1 and set(a.get("dilations", [1])) == {1} and not any(a.get("pads", []))
    natural = [(x.shape[2 + k] - 1) * stride[k] + w.shape[2 + k] for k in (0, 1)]
    out = a.get("output_shape", natural)
    assert out[0] >= natural[0] and out[1] >= natural[1]
    y = np.zeros((x.shape[0], w.shape[1], *out))
    for i, j, pixels in taps(y, w.shape[2:], stride, x.shape[2:]):
        pixels += np.einsum("cm,nchw->nmhw", w[:, :, i, j], x, optimize=True)
    return y if bias is None else y + channels(bias)


def instance_norm(a, x, scale, bias):
    mean, var = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
    return (x - mean) / np.sqrt(var + a.get("epsilon", 1e-5)) * channels(scale) + channels(bias)


def batch_norm(a, x, scale, bias, mean, var):
    """Of inference, as all versions have it."""
    return (x - channels(mean)) / np.sqrt(channels(var) + a.get("epsilon", 1e-5)) * channels(scale) + channels(bias)


def crop(a, x):
    left, top, right, bottom = a["border"]
    return x[:, :, top:x.shape[2] - bottom, left:x.shape[3] - right]


def pad(a, x):
    widths = a["pads"]
    return np.pad(x, list(zip(widths[:x.ndim], widths[x.ndim:])), mode=a.get("mode", b"constant").decode())


def broadcast(a, x, y):
    """Before version 7, operands of Add and Mul were aligned at an axis."""
    if not a.get("broadcast") or "axis" not in a:
        return y
    return y.reshape(y.shape + (1,) * (x.ndim - a["axis"] - y.ndim))


OPERATORS = {
    "Add": lambda a, x, y: x + broadcast(a, x, y),
    "Affine": lambda a, x: x * a.get("alpha", 1.0) + a.get("beta", 0.0),
    "BatchNormalization": batch_norm,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Crop": crop,
    "ImageScaler": lambda a, x: x * a.get("scale", 1.0) + channels(np.float64(a["bias"])),
    "InstanceNormalization": instance_norm,
    "Mul": lambda a, x, y: x * broadcast(a, x, y),
    "Pad": pad,
    "Relu": lambda a, x: np.maximum(x, 0),
    "Tanh": lambda a, x: np.tanh(x),
}
F32_OPERANDS = {("Resize", 1), ("Resize", 2)}  # whatever the tensor's type


def wide(x):
    return x.astype(np.float64) if x.dtype == np.float32 else x


def by_reference(model, node, values):
    operands = {name: values[name].astype(np.float32) if (node.op_type, k) in F32_OPERANDS else values[name] for k, name in enumerate(node.input) if name}
    graph = onnx.helper.make_graph([node], "node", [onnx.helper.make_empty_tensor_value_info(n) for n in operands],
                                   [onnx.helper.make_empty_tensor_value_info(n) for n in node.output])
    found = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=model.opset_import)).run(None, operands)
    return dict(zip(node.output, map(wide, found)))


def evaluate(model, inputs):
    """{name: float64 array} of the graph's outputs."""
    graph = model.graph
    values = {t.name: wide(numpy_helper.to_array(t)) for t in graph.initializer}
    values.update({name: wide(x) for name, x in inputs.items()})
    for node in graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type not in OPERATORS:
            values.update(by_reference(model, node, values))
            continue
        values[node.output[0]] = OPERATORS[node.op_type](attributes, *[values[name] for name in node.input if name])
    return {output.name: values[output.name] for output in graph.output}


def read(path):
    return onnx.load_tensor(str(path))


def judged(model, data_set, folder):
    """Writes the data set with evaluated outputs to folder; {output: greatest distance of the recorded one}."""
    loaded = onnx.load(str(model))
    graph = loaded.graph
    held = {t.name for t in graph.initializer}
    names = [i.name for i in graph.input if i.name not in held]
    tensors = [read(data_set / f"input_{k}.pb") for k in range(len(names))]
    outputs = evaluate(loaded, {name: numpy_helper.to_array(t) for name, t in zip(names, tensors)})
    folder.mkdir(parents=True, exist_ok=True)
    for k, tensor in enumerate(tensors):
        onnx.save_tensor(tensor, str(folder / f"input_{k}.pb"))
    distance = {}
    for k, (name, y) in enumerate(outputs.items()):
        recorded = numpy_helper.to_array(read(data_set / f"output_{k}.pb"))
        distance[name] = float(np.abs(recorded - y).max())
        onnx.save_tensor(numpy_helper.from_array(y.astype(recorded.dtype), name), str(folder / f"output_{k}.pb"))
    return distance


def main():
    model, data_set = Path(sys.argv[1]), Path(sys.argv[2])
    folder = Path(sys.argv[3]) if len(sys.argv) > 3 else Path("test_data_set_float64")
    for name, distance in judged(model, data_set, folder).items():
        print(f"{name}: the recorded output is up to {distance:.6g} from the float64 evaluation, written to {folder}")


if __name__ == "__main__":
    main()
