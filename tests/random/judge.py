"""What a random graph gives: ONNX Runtime's word without optimisations; where it cannot, node by node, and onnx's reference for what it has no kernel for."""
import copy
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "versions"))
import oracles  # noqa: E402
from ops_control import bodies_of, names_in  # noqa: E402

NEWEST = 26  # the last opset that ONNX Runtime knows
FOREIGN = ("NOT_IMPLEMENTED", "NotImplemented", "Numpy_type", "Numpy type", "Unsupported model", "opset", "ValidateOpset", "Type Error", "INVALID_GRAPH", "Could not find an implementation",
           "UNEXPECTED", "MLDataType", "not support", "ot implemented", "RuntimeException", "INVALID_ARGUMENT")  # what ONNX Runtime says of what it does not know


def known(model):
    """A model as ONNX Runtime may read it: at the last opset that it knows, where its operators are the same ones there."""
    opset = next(o for o in model.opset_import if o.domain == "")
    if opset.version <= NEWEST:
        return model
    nodes = [n for f in model.functions for n in f.node] + list(model.graph.node)
    while nodes:
        node = nodes.pop()
        for body in bodies_of(node):
            nodes += body.node
        if node.domain == "" and onnx.defs.get_schema(node.op_type, opset.version).since_version > NEWEST:
            return model
    older = copy.deepcopy(model)
    for imports in [older.opset_import, *(f.opset_import for f in older.functions)]:
        for o in imports:
            if o.domain == "":
                o.version = NEWEST
    return older


def runtime(model, values, seconds=None):
    return oracles.runtime(known(model), values, seconds)


def reference(model, values):
    np.seterr(all="ignore")
    return onnx.reference.ReferenceEvaluator(model).run(None, oracles.feed(model, values))


def everything(model, values, infos, seconds=None):
    """([values of what `infos` declares], None), or (None, why not), and whether onnx's reference had a hand in it. The model's outputs do not matter."""
    whole = copy.deepcopy(model)
    del whole.graph.output[:]
    whole.graph.output.extend(infos)
    results, why = None, "Type Error: strings"
    if not any(is_text(i) for i in [*model.graph.input, *infos]):
        results, why = oracles.attempt(lambda m, v: runtime(m, v, seconds), whole, values)
    if results is not None or not any(text in why for text in FOREIGN):
        return results, why, False
    held, why = step_by_step(model, values, {i.name: i for i in infos})
    return (None, why, True) if held is None else ([held[i.name] for i in infos], None, True)


def step_by_step(model, values, infos):
    held = {i.name: v for i, v in zip(model.graph.input, values)}
    infos = infos | {i.name: i for i in model.graph.input}
    for t in model.graph.initializer:
        held[t.name] = onnx.numpy_helper.to_array(t)
    for node in model.graph.node:
        read = {name for name in node.input if name} | {n for body in bodies_of(node) for n in names_in(body)}
        read = sorted(name for name in read if name in held)
        results = [infos.get(name) or onnx.ValueInfoProto(name=name) for name in node.output]
        single = onnx.ModelProto()
        single.CopyFrom(model)
        single.graph.CopyFrom(helper.make_graph([node], "one", [info_of(name, held[name], infos) for name in read], results))
        given = [held[name] for name in read]
        outputs = None
        for oracle in oracles_of(node, given):
            if outputs is None:
                outputs, why = oracles.attempt(oracle, single, given)
        if outputs is None:
            return None, f"{node.op_type}: {why}"
        held |= {name: opened(infos.get(name), value) for name, value in zip(node.output, outputs)}
    return held, None


def opened(info, value):
    """A value as ONNX Runtime gives it: onnx's reference puts what an optional holds in a list."""
    of_tensor = info is not None and info.type.optional_type.elem_type.HasField("tensor_type")
    return value[0] if of_tensor and isinstance(value, list) and value else value


def is_text(info):
    kinds = (info.type, info.type.sequence_type.elem_type, info.type.optional_type.elem_type)
    return any(kind.tensor_type.elem_type == onnx.TensorProto.STRING for kind in kinds)


def oracles_of(node, values):
    """Whom to ask, one after the other. ONNX Runtime loses strings that it gathers, and those that loops stack."""
    if has_no_array(node, values):
        return (reference,)
    texts = any(np.asarray(v).dtype == object for value in values for v in (value if isinstance(value, list) else [value]) if v is not None)
    return (reference, runtime) if texts else (runtime, reference)


def has_no_array(node, values):
    """Whether a node reads or makes what ONNX Runtime gives and takes as bits only: the short floats of ml_dtypes."""
    casts = node.op_type == "Cast" and node.attribute[0].i in (onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT8E4M3FN, onnx.TensorProto.FLOAT8E5M2)
    return casts or any(isinstance(v, np.ndarray) and v.dtype.isbuiltin != 1 for v in values)


def info_of(name, value, infos):
    if name in infos:
        return infos[name]
    value = np.asarray(value)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
