"""What an operator's operands need to mean something in another type: attributes that name types, divisors, operands that no case has."""
import dataclasses

import numpy as np
import onnx
from onnx import helper, numpy_helper

import pairs
import recast
from judge import TYPE_ATTRIBUTES

DIVISORS = {("Div", 1), ("Mod", 1)}
SMALL = {("Pow", 1): 3, ("BitShift", 1): 7, ("ReduceProd", 0): 3, ("CumProd", 0): 3}  # operands kept from overflow: integers up to this
POSITIVE = {"ReduceLogSum", "ReduceLogSumExp"}  # of integers
FIXED = {("Resize", "T2"), ("GridSample", "T2")}  # values that are places: never perturbed, rounded at most


def typed_node(source, schema, kinds):
    """The node with the attribute that names the type of its result, where no operand does."""
    copy = onnx.NodeProto()
    copy.CopyFrom(source.node)
    given = {pairs.formal(schema.inputs, k).type_str for k, v in enumerate(source.inputs) if v is not None}
    variable = pairs.formal(schema.outputs, 0).type_str
    name = next((name for name in TYPE_ATTRIBUTES if name in schema.attributes), None)
    if name and variable in kinds and (variable not in given or any(a.name == name for a in copy.attribute)):
        kept = [a for a in copy.attribute if a.name != name]
        code = recast.TYPES[kinds[variable]]
        text = schema.attributes[name].type == onnx.defs.OpSchema.AttrType.STRING
        del copy.attribute[:]
        copy.attribute.extend([*kept, helper.make_attribute(name, onnx.TensorProto.DataType.Name(code) if text else code)])
    typed_tensors(copy, schema, kinds)
    return copy


# (operator, variable): tensors in attributes that have the variable's type.
TENSORS = {("TreeEnsemble", "T"): ("nodes_splits", "leaf_weights"), ("ConstantOfShape", "T2"): ("value",)}


def typed_tensors(node, schema, kinds):
    for attribute in node.attribute:
        for variable in kinds:
            if attribute.name in TENSORS.get((schema.name, variable), ()):
                attribute.t.CopyFrom(numpy_helper.from_array(recast.recast(numpy_helper.to_array(attribute.t), kinds[variable])))
    if "stash_type" in schema.attributes and "U" in kinds:
        kept = [a for a in node.attribute if a.name != "stash_type"]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute("stash_type", recast.TYPES[kinds["U"]])])


def typed_value(source, schema, k, value, name, kind):
    """Operand k in element type `name`, for a case of `kind`."""
    op = schema.name
    if op in ("Cast", "CastLike") and k == 0 and recast.name_of(value) not in ("string", "bool"):
        value = recast.recast(np.abs(recast.as_numbers(value)), recast.name_of(value))  # what negative numbers are as unsigned ones, the standard leaves open
    if recast.name_of(value) == name:
        return value
    if (op, pairs.formal(schema.inputs, k).type_str) in FIXED:
        return value.astype(recast.dtype_of(name))
    if op in ("Cast", "CastLike") and k == 0 and name == "string":
        return np.array([recast.spelling(v) for v in recast.as_numbers(value).reshape(-1)], object).reshape(value.shape)
    if op in ("QuantizeLinear", "DequantizeLinear") and k == 2 and "float" in name:
        return np.zeros(value.shape, recast.dtype_of(name))  # the standard wants no other zero point
    changed = recast.recast(value, name)
    whole = changed.dtype.kind in "iu"
    if (op, k) in DIVISORS and whole:
        changed = np.where(changed == 0, 3, changed).astype(changed.dtype)
    if (op, k) in SMALL and whole:
        changed = (np.abs(changed.astype(np.int64)) % (SMALL[op, k] + 1)).astype(changed.dtype)
    if op in POSITIVE and whole:
        changed = (np.abs(changed.astype(np.int64)) % 40 + 1).astype(changed.dtype)
    return changed


def castable(x, name):
    """x without what the standard leaves open for that type: fractions beyond an integer's range, infinities, NaN."""
    if recast.name_of(x) not in (*recast.FLOATS, *recast.SMALL_FLOATS, "float8e8m0") or name not in (*recast.INTS, *recast.SUB_BYTE):
        return x
    lo, hi = recast.SUB_BYTE[name] if name in recast.SUB_BYTE else (np.iinfo(recast.dtype_of(name)).min, np.iinfo(recast.dtype_of(name)).max)
    wide = np.nan_to_num(x.astype(np.float64), nan=1.0, posinf=2.0, neginf=3.0)
    return np.clip(wide, max(lo, -1e6), min(hi, 1e6)).astype(np.float32).astype(x.dtype)


def sequence_lens(source):
    layout = next((a.i for a in source.node.attribute if a.name == "layout"), 0)
    length, batch = source.inputs[0].shape[:2] if not layout else source.inputs[0].shape[1::-1]
    return np.array([max(1, length - k % 2) for k in range(batch)], np.int32)


# (operator, variable): (operand, its value for a material) where no case has that operand.
ADDED = {("RNN", "T1"): (4, sequence_lens), ("GRU", "T1"): (4, sequence_lens), ("LSTM", "T1"): (4, sequence_lens),
         ("QLinearConv", "T4"): (8, lambda m: np.arange(m.inputs[3].shape[0], dtype=np.int32) * 7 - 3),
         ("Resize", "T2"): (1, lambda m: np.array([0.0] * m.inputs[0].ndim + [1.0] * m.inputs[0].ndim, np.float32)),
         ("DFT", "T2"): (1, lambda m: np.array(m.inputs[0].shape[axis_of(m)], np.int64)),
         ("Tile", "T1"): (1, lambda m: np.array(2, np.int64)),
         ("LinearAttention", "S"): (3, lambda m: np.full(m.outputs[1].shape, 0.25, np.float32)),
         ("Pad", "Tind"): (3, lambda m: np.arange(m.inputs[0].ndim, dtype=np.int64))}
# (operator, variable): a result that no case has: its number and type.
MORE_RESULTS = {("MaxPool", "I"): (1, "int64"), ("Dropout", "T1"): (1, "bool"), ("Dropout", "T2"): (1, "bool"), ("LayerNormalization", "U"): (1, "float")}


def axis_of(source):
    axis = next((a.i for a in source.node.attribute if a.name == "axis"), -2)
    if len(source.inputs) > 2 and source.inputs[2] is not None:
        axis = int(source.inputs[2].reshape(-1)[0])
    return axis


def with_variable(source, schema, variable):
    """The material with an operand or result of that variable, or None."""
    key = (schema.name, variable)
    node = onnx.NodeProto()
    node.CopyFrom(source.node)
    if key in ADDED:
        k, make = ADDED[key]
        if k >= schema.max_input:
            return None
        inputs = source.inputs + [None] * (k + 1 - len(source.inputs))
        inputs[k] = make(source)
        node.input.extend([""] * (k + 1 - len(node.input)))
        node.input[k] = "added"
        return dataclasses.replace(source, node=node, inputs=inputs)
    if key in MORE_RESULTS:
        k, name = MORE_RESULTS[key]
        node.output.extend([f"added{i}" for i in range(len(node.output), k + 1)])
        more = [np.zeros(source.outputs[0].shape, recast.dtype_of(name))] * (k + 1 - len(source.outputs))
        return dataclasses.replace(source, node=node, outputs=source.outputs + more)
    return None
