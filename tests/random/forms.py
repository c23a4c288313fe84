"""What a node looks like at an opset: rows write the newest form, this makes the older one of it, or says that there is none."""
import functools

import numpy as np
import onnx
from onnx import helper

OPSETS = tuple(range(7, 29))
TO_ATTRIBUTE = {  # operands that were attributes once: {operator: (first version with operands, their names)}
    "Squeeze": (13, ("axes",)), "Unsqueeze": (13, ("axes",)), "ReduceSum": (13, ("axes",)), "Split": (13, ("split",)),
    "Slice": (10, ("starts", "ends", "axes", "steps")), "Pad": (11, ("pads", "value")), "Clip": (11, ("min", "max")), "TopK": (10, ("k",)),
}
WITHOUT = {"steps": [1], "largest": 1, "select_last_index": 0, "keepdims": 1, "fmod": 0, "mode": "DCR", "allowzero": 0}  # what the older form means by saying nothing
ONE_NUMBER = {"value", "min", "max", "k"}
FROM_THE_END = 11  # the first opset at which every axis may count from the end
OLD_BROADCAST = {"Max", "Min", "Sum", "Mean"}  # operands of one shape before opset 8


class Unfit(Exception):
    """An operator finds no operands here."""


@functools.lru_cache(None)
def schema_of(op, opset):
    try:
        return onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError:
        raise Unfit from None


@functools.lru_cache(None)
def type_name(dtype):
    kind = onnx.TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))).lower()
    return f"tensor({kind})"


@functools.lru_cache(None)
def allows(op, opset, place, dtype, wrapper):
    """Whether the operand at a place may have this type."""
    formal = schema_of(op, opset).inputs
    name = type_name(dtype)
    return bool(formal) and (wrapper.format(name) if wrapper else name) in formal[min(place, len(formal) - 1)].types


def gives(op, opset, dtype):
    """Whether a result may have this type."""
    return type_name(dtype) in schema_of(op, opset).outputs[0].types


def held(name, known):
    if name not in known:
        raise Unfit
    return known[name]


def at_opset(op, names, attributes, opset, known):
    """(operands, attributes) at this opset; `known` are the constants by name."""
    schema = schema_of(op, opset)
    attributes = dict(attributes)
    since, moved = TO_ATTRIBUTE.get(op, (0, ()))
    if opset < since:
        for attribute, name in zip(moved, names[1:]):
            if name:
                array = held(name, known)
                attributes[attribute] = np.asarray(array).reshape(-1)[0].item() if attribute in ONE_NUMBER else array.tolist()
        names = names[:1]
    for attribute in [a for a in attributes if a not in schema.attributes]:
        if attributes.pop(attribute) != WITHOUT.get(attribute):
            raise Unfit
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    if len(names) < schema.min_input or len(names) > schema.max_input or any(not name and formal.option == single for name, formal in zip(names, schema.inputs)):
        raise Unfit
    if opset < FROM_THE_END:
        axes = [attributes.get("axis", 0), *attributes.get("axes", ())]
        if op in ("Gather", "CumSum", "OneHot", "Slice") and len(names) > 3 and names[3] in known:
            axes += known[names[3]].tolist()
        if min(axes) < 0:
            raise Unfit
    return names, attributes
