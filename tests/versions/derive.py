"""Cases at old versions made from official cases of newer ones, where the texts agree after a mechanical change: operands
that were attributes, types that were not allowed yet, attributes that did not exist and stand at their default."""
import numpy as np
import onnx
from onnx import helper

import oracles

# (operator, operand): (attribute, the first version that has the operand). What was an attribute before that.
MOVED = {("Clip", 1): ("min", 11), ("Clip", 2): ("max", 11), ("Dropout", 1): ("ratio", 12), ("Pad", 1): ("pads", 11),
         ("Pad", 2): ("value", 11), ("Reshape", 1): ("shape", 5), ("Slice", 1): ("starts", 10), ("Slice", 2): ("ends", 10),
         ("Slice", 3): ("axes", 10), ("Split", 1): ("split", 13), ("Squeeze", 1): ("axes", 13),
         ("TopK", 1): ("k", 10), ("Unsqueeze", 1): ("axes", 13), ("ReduceSum", 1): ("axes", 13)}
MOVED |= {(f"Reduce{kind}", 1): ("axes", 18) for kind in
          ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")}
RENAMED = {("Pad", 1, "pads"): "paddings"}  # (operator, version, attribute)

# What a version says otherwise than the newer text that a case comes from: these are written by hand (by_hand.py), not derived.
BINARY = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")
OTHER_MEANING = {(op, 1) for op in BINARY} | {
    ("Dropout", 1), ("Dropout", 6), ("BatchNormalization", 1), ("BatchNormalization", 7), ("Upsample", 1), ("Tile", 1), ("Split", 1),
    ("Gemm", 1), ("PRelu", 1), ("GRU", 1), ("GroupNormalization", 18), ("Hardmax", 1), ("Scan", 8), ("Cast", 1),
    ("LpPool", 1), ("GlobalLpPool", 1), ("Concat", 1), ("Max", 1), ("Min", 1), ("Sum", 1), ("Mean", 1), ("Mean", 6),
    ("Bernoulli", 15)}
# Derived all the same, but ONNX Runtime decides, not the newer case: axes that are joined, half pixels.
OTHER_RESULT = {("Softmax", 11), ("LogSoftmax", 11), ("Hardmax", 11), ("RoiAlign", 10)}
# Operands that an older text does not allow, by operator: (the version that allows them, whether these are such).
NOT_YET = {"Mod": (28, lambda inputs, attributes: inputs[0].dtype.kind == "f" and not attributes.get("fmod"))}
PLAIN = {np.dtype(t): t for t in (np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8,
                                  np.uint16, np.uint32, np.uint64, np.bool_)}


class Skip(Exception):
    """This source shows nothing at that version."""


def type_name(array):
    names = {onnx.TensorProto.DataType.Name(k).lower(): k for k in onnx.TensorProto.DataType.values()}
    wanted = helper.np_dtype_to_tensor_dtype(array.dtype)
    text = next(name for name, k in names.items() if k == wanted)
    return f"tensor({text})"


def allowed(schema, operand):
    """The types that a formal operand may have."""
    for constraint in schema.type_constraints:
        if constraint.type_param_str == operand.type_str:
            return set(constraint.allowed_type_strs)
    return {operand.type_str}


def formal(schema, k):
    operands = schema.inputs
    if k < len(operands):
        return operands[k]
    if operands and operands[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        return operands[-1]
    raise Skip("more operands than the version has")


def moved_operands(op, version, inputs, attributes):
    """Operands that were attributes at this version, as such."""
    inputs = list(inputs)
    for (name, k), (attribute, since) in MOVED.items():
        if name == op and version < since and k < len(inputs):
            if inputs[k] is not None:
                value = inputs[k]
                if value.size == 0:
                    raise Skip(f"operand {k} is empty, which an attribute cannot say")
                attributes[RENAMED.get((op, version, attribute), attribute)] = (
                    [v.item() for v in value.reshape(-1)] if value.ndim and attribute not in ("k",) else value.reshape(-1)[0].item())
            inputs[k] = None
    while inputs and inputs[-1] is None:
        inputs.pop()
    return inputs


def as_old_types(schema, inputs):
    """Inputs in types that the version allows, one change for all operands of a type variable."""
    changed, values = {}, []
    for k, value in enumerate(inputs):
        if value is None:
            values.append(None)
            continue
        operand = formal(schema, k)
        types = allowed(schema, operand)
        if value.dtype not in PLAIN or operand.type_str in changed or type_name(value) not in types:
            wanted = changed.get(operand.type_str)
            if wanted is None:
                wanted = next((t for t in (np.float32, np.int64, np.int32, np.bool_) if type_name(np.zeros(0, t)) in types), None)
                if wanted is None or value.dtype not in PLAIN:
                    raise Skip(f"no plain type for operand {k}")
                changed[operand.type_str] = wanted
            value = value.astype(wanted)
        values.append(value)
    return values, bool(changed)


def old_attributes(op, schema, new_schema, attributes):
    """The attributes as the version names them; those that it lacks must stand at their default."""
    kept = {}
    for name, value in attributes.items():
        plain = helper.get_attribute_value(value) if isinstance(value, onnx.AttributeProto) else value
        if name in schema.attributes:
            kind = schema.attributes[name].type
            if kind == onnx.defs.OpSchema.AttrType.FLOAT and isinstance(plain, int):
                plain = float(plain)
            kept[name] = plain
            continue
        default = new_schema.attributes[name].default_value if name in new_schema.attributes else None
        if default is None or not default.type or helper.get_attribute_value(default) != plain:
            raise Skip(f"attribute {name} did not exist")
    for name, attribute in schema.attributes.items():
        if attribute.required and name not in kept:
            raise Skip(f"attribute {name} is required")
    return kept


def model_of(domain, op, opset, inputs, outputs, attributes):
    """A model of one node; operands None are left out. `outputs` are arrays whose types and shapes are declared."""
    in_names = [f"x{k}" if value is not None else "" for k, value in enumerate(inputs)]
    out_names = [f"y{k}" if value is not None else "" for k, value in enumerate(outputs)]
    node = helper.make_node(op, in_names, out_names, name=f"{op}_{opset}", domain=domain)
    for name, value in attributes.items():
        node.attribute.append(value if isinstance(value, onnx.AttributeProto) else helper.make_attribute(name, value))
    graph = helper.make_graph([node], f"{op}_{opset}", infos(in_names, inputs), infos(out_names, outputs))
    imports = [helper.make_opsetid(domain, opset)] + ([] if domain == "" else [helper.make_opsetid("", 15)])
    return helper.make_model(graph, opset_imports=imports, ir_version=13 if opset > 22 else 8 if domain or opset > 6 else 3, producer_name="castnet-tests")


def infos(names, values):
    return [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape))
            for name, value in zip(names, values) if name]


def present(values):
    return [v for v in values if v is not None]


def by_oracles(model, inputs, version):
    """(outputs, oracle's name), or (None, what they said)."""
    said = []
    for name, oracle in (("runtime", oracles.runtime), ("reference", oracles.reference)):
        if name == "reference" and version < 7:
            continue  # it takes newer texts for such old versions
        outputs, why = oracles.attempt(oracle, model, present(inputs))
        if outputs is not None:
            return outputs, name
        said.append(f"{name}: {why}")
    return None, "; ".join(said)


def derive(source, pair):
    """(model, inputs, outputs, oracle) of a case of `pair` made from an official one. Raises Skip."""
    domain, op, version = pair
    if (op, version) in OTHER_MEANING:
        raise Skip("means something else")
    schema, new_schema = (onnx.defs.get_schema(op, v, domain) for v in (version, source.version))
    attributes = dict(source.attributes)
    inputs = moved_operands(op, version, source.inputs, attributes)
    inputs, cast = as_old_types(schema, inputs)
    attributes = old_attributes(op, schema, new_schema, attributes)
    if len(source.outputs) > schema.max_output:
        raise Skip("more results than the version has")
    since, is_newer = NOT_YET.get(op, (0, None))
    if version < since and is_newer(inputs, attributes):
        raise Skip("not allowed by that version")
    newer = model_of(domain, op, source.opset, cast_like(source.inputs, inputs), source.outputs, source.attributes)
    expected, same = source.outputs, f"official case {source.name}"
    if cast:
        expected, same = by_oracles(newer, cast_like(source.inputs, inputs), source.opset)
        if expected is None:
            raise Skip(f"no oracle: {same}")
        expected, same = spread(expected, source.outputs), f"{same} at version {source.version}"
    model = model_of(domain, op, version, inputs, expected, attributes)
    outputs, oracle = by_oracles(model, inputs, version)
    if outputs is None and (op, version) in OTHER_RESULT:
        raise Skip(f"no oracle: {oracle}")
    if outputs is None or ((op, version) not in OTHER_RESULT and not agree(present(expected), outputs)):
        return model, inputs, expected, same  # the same text: where the oracle errs, the newer case is right
    outputs = spread(outputs, source.outputs)
    return model_of(domain, op, version, inputs, outputs, attributes), inputs, outputs, oracle


def agree(expected, outputs):
    """Within the tolerances of the suite."""
    return all(a.shape == b.shape and a.dtype == b.dtype and
               np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-3, atol=1e-5, equal_nan=True)
               for a, b in zip(expected, outputs))


def cast_like(originals, inputs):
    """The newer node's operands, in the types that the older one has."""
    return [v if k >= len(inputs) or v is None or inputs[k] is None else v.astype(inputs[k].dtype) for k, v in enumerate(originals)]


def spread(values, like):
    values = iter(values)
    return [next(values) if v is not None else None for v in like]
