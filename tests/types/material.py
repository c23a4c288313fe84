"""Nodes with data to start from: the official cases and those of tests/versions, in the types that they have."""
import dataclasses
import json
from pathlib import Path

import onnx
from onnx import numpy_helper

import derive
import harness
import pairs
import recast
import sources

RANDOM = harness.read_list(Path(__file__).resolve().parent.parent / "conformance" / "random_cases.txt")
NOT_MECHANICAL = derive.OTHER_MEANING | derive.OTHER_RESULT  # versions that other versions' cases say nothing about


@dataclasses.dataclass
class Material:
    """A node and its operands. Left-out operands are None."""
    name: str
    node: onnx.NodeProto
    opset: int
    inputs: list
    outputs: list
    rtol: float = 1e-3
    atol: float = 1e-6
    random: bool = False

    def kinds(self, schema):
        """{type variable: element type}, of operands and of results."""
        found = {}
        for formals, values in ((schema.inputs, self.inputs), (schema.outputs, self.outputs)):
            for k, value in enumerate(values):
                operand = pairs.formal(formals, k)
                if value is not None and operand is not None:
                    found.setdefault(operand.type_str, recast.name_of(value))
        return found

    def size(self):
        return sum(v.size for v in self.inputs + self.outputs if v is not None)


def values_of(folder, side, infos):
    """Arrays by name, or None where something is no tensor."""
    found = {}
    for i, info in enumerate(infos):
        path = folder / f"{side}_{i}.pb"
        if info.type.WhichOneof("value") != "tensor_type" or not path.exists():
            return None
        value = numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
        found[info.name] = value.astype(object) if value.dtype.kind in "OUS" else value
    return found


def read_one(folder, row):
    """((domain, operator, version), Material) of a case of one node whose operands are all graph inputs, or None."""
    model = onnx.load(folder / "model.onnx")
    graph = model.graph
    if len(graph.node) != 1 or graph.initializer or graph.sparse_initializer or model.functions:
        return None
    node = graph.node[0]
    if any(a.HasField("g") for a in node.attribute):
        return None
    data = folder / "test_data_set_0"
    inputs, outputs = values_of(data, "input", graph.input), values_of(data, "output", graph.output)
    if inputs is None or outputs is None:
        return None
    domain = sources.domain_name(node.domain)
    opset = next(i.version for i in model.opset_import if sources.domain_name(i.domain) == domain)
    schema = onnx.defs.get_schema(node.op_type, opset, domain)
    return (domain, node.op_type, schema.since_version), Material(
        row["name"], node, opset, [inputs.get(name) for name in node.input], [outputs.get(name) for name in node.output], row["rtol"], row["atol"],
        bool(row.get("random")) or f"{row['kind']}/{row['name']}" in RANDOM)


def read(folders, only=()):
    """{(domain, operator): [(version, Material)]} of all operators, or of some."""
    found = {}
    for root in folders:
        for row in json.loads((root / "index.json").read_text()):
            asked = row["kind"] in ("node", "versions") and (not only or row["op"].split("::")[-1] in only)
            one = read_one(root / row["kind"] / row["name"], row) if asked else None
            if one:
                found.setdefault(one[0][:2], []).append((one[0][2], one[1]))
    return found


def at_version(material, version, schema):
    """The material as a node of that version, where its text allows the same; raises derive.Skip."""
    old = onnx.defs.get_schema(material.node.op_type, material.opset, material.node.domain)
    if old.since_version == schema.since_version:
        return material
    op = material.node.op_type
    if (op, version) in NOT_MECHANICAL or (op, old.since_version) in NOT_MECHANICAL:
        raise derive.Skip("means something else")
    attributes = {a.name: a for a in material.node.attribute}
    inputs = derive.moved_operands(op, version, material.inputs, attributes)
    attributes = derive.old_attributes(op, schema, old, attributes)
    if not schema.min_input <= len(inputs) <= schema.max_input or len(material.outputs) > schema.max_output:
        raise derive.Skip("another number of operands")
    node = onnx.NodeProto()
    node.CopyFrom(material.node)
    del node.attribute[:], node.input[:]
    node.input.extend(name if value is not None else "" for name, value in zip(material.node.input, inputs))
    for name, value in attributes.items():
        node.attribute.append(value if isinstance(value, onnx.AttributeProto) else onnx.helper.make_attribute(name, value))
    return dataclasses.replace(material, node=node, opset=version, inputs=inputs)


def candidates(found, schema, variable, kind):
    """Materials for a type of a type variable, best first: of this version, with the variable, of this type, plain, small."""
    rows = []
    for version, material in found.get((schema.domain, schema.name), []):
        try:
            material = at_version(material, schema.since_version, schema)
        except derive.Skip:
            continue
        kinds = material.kinds(schema)
        plain = moves_only(material.node)
        rows.append((variable not in kinds, kinds.get(variable) != kind, kind in recast.OPAQUE and not plain, version != schema.since_version,
                     abs(version - schema.since_version), not 4 <= material.size() <= 400, material.size(), material.name, material))
    return [row[-1] for row in sorted(rows, key=lambda row: row[:-1])]


def moves_only(node):
    """Whether the node's attributes ask for no arithmetic, of operators that can do without."""
    said = {a.name: a.s for a in node.attribute if a.name in ("reduction", "mode")}
    if node.op_type in ("Resize", "Upsample", "GridSample"):
        return said.get("mode", b"linear" if node.op_type == "GridSample" else b"nearest") == b"nearest"
    return said.get("reduction", b"none") == b"none"
