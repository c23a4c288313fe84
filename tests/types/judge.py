"""Expected outputs of a node in given types, and how near to them castnet has to be.

The oracle by class of the type that a case shows:
- opaque types (strings, bool, complex, float8, 4- and 2-bit numbers) where elements are moved or compared: the elements' ranks among all
  operands' elements, 0 for the type's zero, go through the same node as int64, and come back as elements. Exact.
- float16, bfloat16: the node in float on the same values, its outputs rounded once.
- what exact.py computes itself, by that: the libraries compute those in float, or badly.
- all others: ONNX Runtime on the node as it is, then onnx's reference, then the node in a wider type, rounded once. The version's text is that
  of the nearest older version that ONNX Runtime has, where the node is valid there.
"""
import numpy as np
import onnx
from onnx import helper

import derive
import exact
import material
import oracles
import pairs
import recast

WIDER = {"int8": ("int32", "int64"), "int16": ("int32", "int64"), "uint8": ("int32", "int64"), "uint16": ("int32", "int64"), "uint32": ("int64",),
         "uint64": ("int64", "float"), "int32": ("int64", "float"), "int64": ("int32", "float"), "double": ("float",), "float": ("double",), "bool": ("uint8", "int32"),
         "float16": ("float", "double"), "bfloat16": ("float", "double")}
NARROW = ("float16", "bfloat16")
CONVERTING = ("Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", "BitCast", "IsNaN", "IsInf", "And", "Or", "Xor", "Not", "QLinearMatMul")
MOVING = ("Concat", "Resize", "SpaceToDepth", "Split", "Tile", "Upsample")  # in numbers of types that no oracle takes at that version
INTERPOLATING = ("Resize", "Upsample", "GridSample")  # of integers: in double, then towards zero; ONNX Runtime rounds, the reference keeps integers in the middle
# Distances allowed, by type of the output: (relative, absolute). Functions of one number and most others agree within 2 ULP, which is 5e-16 of double, 2.4e-7 of float,
# 2e-3 of float16, 1.6e-2 of bfloat16; sums of some hundred terms (products, norms, convolutions) in another order have ten times that, and what cancels in them the
# absolute distance.
NEAR = {"double": (1e-14, 1e-15), "float": (5e-6, 1e-6), "float16": (2e-3, 1e-3), "bfloat16": (1.6e-2, 8e-3), "complex64": (5e-6, 1e-6), "complex128": (1e-14, 1e-15)}
BY_FLOAT = (5e-6, 1e-6)  # of double where float stood for it: no library has that operator in double, or the standard has a stage of it in float (stash_type)
# (operator, type): what is coarser by its nature.
COARSE = {("DFT", "double"): (1e-13, 1e-12), ("STFT", "double"): (1e-13, 1e-12),  # sums of up to 200 terms of 100
          ("DFT", "float"): (1e-5, 1e-3), ("STFT", "float"): (1e-5, 1e-3)}


class NoOracle(Exception):
    """What the oracles said instead of outputs."""


def model_of(node, domain, opset, inputs, outputs=None, kinds=None):
    """A model of one node. Outputs without values are left to be inferred."""
    given = [(name, value) for name, value in zip(node.input, inputs) if name]
    before = [helper.make_tensor_value_info(name, recast.TYPES[recast.name_of(value)], list(value.shape)) for name, value in given]
    after = []
    for k, name in enumerate(node.output):
        if name and outputs is not None:
            after.append(helper.make_tensor_value_info(name, recast.TYPES[kinds[k]], list(outputs[k].shape)))
        elif name:
            after.append(onnx.ValueInfoProto(name=name))
    graph = helper.make_graph([node], f"{node.op_type}_{opset}", before, after)
    imports = [helper.make_opsetid(domain, opset)] + ([] if domain == "" else [helper.make_opsetid("", 17)])
    recent = domain == "" and opset > 22 or domain == "ai.onnx.preview"
    return helper.make_model(graph, opset_imports=imports, ir_version=13 if recent else 8 if domain or opset > 6 else 3, producer_name="castnet-tests")


def opsets(node, domain, opset):
    """The opset and older ones whose text of the operator the node satisfies, newest first: what ONNX Runtime may know."""
    found = [opset]
    for schema in pairs.versions()[domain, node.op_type]:
        if schema.since_version < opset and all(a.name in schema.attributes for a in node.attribute) and len(node.input) <= schema.max_input:
            found.append(schema.since_version)
    return found[:3]


def ask(node, domain, opset, inputs):
    """(outputs, oracle)."""
    said, newest = [], (node.op_type, onnx.defs.get_schema(node.op_type, opset, domain).since_version) not in derive.OTHER_RESULT
    for version in opsets(node, domain, opset):
        outputs, why = oracles.attempt(oracles.runtime, model_of(node, domain, version, inputs), [v for v in inputs if v is not None])
        if outputs is not None:
            return outputs, "runtime" + (f" at version {version}" if version != opset else "")
        said.append(f"runtime {version}: {why}")
        if version == opset and (domain or opset >= 7) and newest:  # the reference knows no older meaning
            outputs, why = oracles.attempt(oracles.reference, model_of(node, domain, opset, inputs), [v for v in inputs if v is not None])
            if outputs is not None:
                return outputs, "reference"
            said.append(f"reference: {why}")
    raise NoOracle("; ".join(said))


def ranks(values):
    """(values as ranks, elements by rank): order and equality are the elements', 0 is the type's zero."""
    name = recast.name_of(values[0])
    flat = np.concatenate([bits_of(v, name).reshape(-1) for v in values])
    zero = "" if name == "string" else flat.dtype.type(0).item()
    elements = sorted(set(flat.tolist()) | {zero}, key=lambda e: (e.real, e.imag) if isinstance(e, complex) else e)
    base = elements.index(zero)
    number = {element: k - base for k, element in enumerate(elements)}
    return [np.array([number[e] for e in bits_of(v, name).reshape(-1).tolist()], np.int64).reshape(v.shape) for v in values], \
        lambda out: unbits(np.array([elements[int(k) + base] for k in out.reshape(-1)], flat.dtype).reshape(out.shape), name)


def is_plain(name):
    """Whether numpy has the type itself: its values can be listed and compared."""
    return name in ("string", "bool", "float", "double", "float16") or name in recast.INTS or name.startswith("complex")


def bits_of(value, name):
    return value if is_plain(name) else np.ascontiguousarray(value).view(np.uint16 if name == "bfloat16" else np.uint8)


def unbits(value, name):
    return value if is_plain(name) else value.view(recast.dtype_of(name))


def by_ranks(node, schema, opset, inputs, kind, kinds, variable):
    """The node on ranks, in the first type of int64, int32 and float that it takes."""
    places = of_variable(schema, inputs, variable)
    results = [pairs.formal(schema.outputs, k).type_str == variable for k, name in enumerate(node.output) if name]
    allowed = pairs.constraints(schema).get(variable, ())
    numbers, elements = ranks([inputs[k] for k in places])
    last = "no number takes the place of this type"
    for name in ("int64", "int32", "float"):
        if f"tensor({name})" not in allowed:
            continue
        asked = list(inputs)
        for k, v in zip(places, numbers):
            asked[k] = v.astype(recast.dtype_of(name))
        try:
            outputs, said = ask(with_types(node, {kind: name}), schema.domain, opset, asked)
        except NoOracle as why:
            last = str(why)
            continue
        return spread(node, [elements(o) if ours else o for o, ours in zip(outputs, results)]), f"{said} on ranks"
    raise NoOracle(last)


def of_variable(schema, inputs, variable):
    return [k for k, v in enumerate(inputs) if v is not None and pairs.formal(schema.inputs, k).type_str == variable]


def with_types(node, changed):
    """A copy whose type attributes say the changed types."""
    node = type(node).FromString(node.SerializeToString())
    codes = {recast.TYPES[a]: recast.TYPES[b] for a, b in changed.items()}
    for attribute in node.attribute:
        if attribute.name in (*TYPE_ATTRIBUTES, "stash_type") and attribute.type == onnx.AttributeProto.INT:
            attribute.i = codes.get(attribute.i, attribute.i)
    return node


TYPE_ATTRIBUTES = ("to", "dtype", "output_datatype", "output_dtype")


def present(node, kinds):
    return [kind for name, kind in zip(node.output, kinds) if name]


def spread(node, outputs):
    values = iter(outputs)
    return [next(values) if name else None for name in node.output]


def by_wider(node, schema, opset, inputs, changed):
    """The node with these element types in place of others; outputs as they come."""
    asked = [v if v is None or recast.name_of(v) not in changed else v.astype(recast.dtype_of(changed[recast.name_of(v)])) for v in inputs]
    return ask(with_types(node, changed), schema.domain, opset, asked)


def rounded(value, name):
    value = np.asarray(value)
    if name == "string" or recast.name_of(value) == name:
        return value
    if name in recast.FLOATS and value.dtype.kind == "f" and name not in ("float", "double"):
        return value.astype(np.float32).astype(recast.dtype_of(name))
    if name in recast.INTS and value.dtype.kind == "f":
        return np.trunc(value).astype(np.int64).astype(recast.dtype_of(name))
    return value.astype(recast.dtype_of(name))


def judge(node, schema, opset, inputs, kinds, variable, kind):
    """(outputs, oracle, rtol, atol) of a node whose outputs have the element types `kinds`, as a case for `variable` of the element type `kind`."""
    found = exact.outputs(node, opset, inputs, kinds)
    if found is not None:
        return spread(node, found), "computed here", *distances(node, present(node, kinds), False)
    if kind in recast.OPAQUE and node.op_type not in CONVERTING and of_variable(schema, inputs, variable):
        outputs, said = by_ranks(node, schema, opset, inputs, kind, kinds, variable)
        return outputs, said, *distances(node, present(node, kinds), False)
    narrow = {name for name in (recast.name_of(v) for v in inputs if v is not None) if name in NARROW} | ({kind} & set(NARROW))
    tries = [{name: "float" for name in narrow}] if narrow else [{}]
    if schema.domain == "ai.onnx.ml" and "float" in kinds and kind in ("double", "int32", "int64") and of_variable(schema, inputs, variable):
        tries = [{kind: "float"}]  # these compute in float whatever comes in; the reference does not, and ONNX Runtime lacks some
    if node.op_type in INTERPOLATING and kind in recast.INTS:
        tries = [{kind: "double"}, {kind: "float"}]
    tries += [{kind: wide} for wide in WIDER.get(kind, ())] + ([{}] if narrow else [])
    said = []
    for changed in tries:
        try:
            outputs, oracle = by_wider(node, schema, opset, inputs, changed)
        except NoOracle as why:
            said.append(str(why))
            continue
        outputs = [rounded(o, k) for o, k in zip(outputs, present(node, kinds))]
        how = f"{oracle} in {', '.join(sorted(set(changed.values())))}" if changed else oracle
        return spread(node, outputs), how, *distances(node, present(node, kinds), changed.get("double") == "float" or has_float_stage(schema, inputs))
    if node.op_type in MOVING:
        outputs, how = by_ranks(node, schema, opset, inputs, kind, kinds, variable)
        return outputs, how, *distances(node, present(node, kinds), False)
    raise NoOracle(" | ".join(said))


def has_float_stage(schema, inputs):
    """Whether a stage in float comes into results of double: the standard's stash_type, places given in float, a float learning rate."""
    mixed = schema.name in INTERPOLATING or schema.domain == "ai.onnx.preview.training"
    return "stash_type" in schema.attributes or mixed and any(v is not None and recast.name_of(v) == "float" for v in inputs)


def distances(node, kinds, coarse):
    """The widest of the outputs' distances; coarse where float stood for double."""
    near = [BY_FLOAT if coarse and k == "double" else COARSE.get((node.op_type, k), NEAR.get(k, (0.0, 0.0))) for k in kinds]
    if node.op_type in INTERPOLATING and set(kinds) <= set(recast.INTS) and not material.moves_only(node):
        return 0.0, 1.0  # what lies next to a whole number goes either way
    return max(r for r, _ in near), max(a for _, a in near)
