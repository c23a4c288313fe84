"""The official cases as material: single-node models with their recorded data, and which pairs they already show."""
import dataclasses
import json
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

warnings.filterwarnings("ignore")


@dataclasses.dataclass
class Source:
    """One official case of one node. Left-out operands are None."""
    name: str
    domain: str
    op: str
    version: int  # the first version whose text holds at the model's opset
    opset: int
    attributes: dict  # name: AttributeProto
    inputs: list
    outputs: list
    rtol: float
    atol: float


def domain_name(domain):
    return "" if domain == "ai.onnx" else domain


def all_pairs():
    """[(domain, operator, version)] of the whole standard, sorted."""
    schemas = onnx.defs.get_all_schemas_with_history()
    return sorted((s.domain, s.name, s.since_version) for s in schemas)


def pairs_of_model(model):
    """The pairs that a model exercises, in bodies and functions too."""
    found = set()
    imports = {domain_name(i.domain): i.version for i in model.opset_import}
    for function in model.functions:
        own = {domain_name(i.domain): i.version for i in function.opset_import}
        pairs_of_nodes(function.node, own, found)
    pairs_of_nodes(model.graph.node, imports, found)
    return found


def pairs_of_nodes(nodes, imports, found):
    for node in nodes:
        domain = domain_name(node.domain)
        if domain in imports and onnx.defs.has(node.op_type, imports[domain], domain):
            schema = onnx.defs.get_schema(node.op_type, imports[domain], domain)
            found.add((domain, node.op_type, schema.since_version))
        for attribute in node.attribute:
            for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                pairs_of_nodes(graph.node, imports, found)


def read_tensors(folder, side, infos):
    """Arrays of one side of a data set, None for what is no tensor."""
    values = []
    for i, info in enumerate(infos):
        path = folder / f"{side}_{i}.pb"
        if info.type.WhichOneof("value") != "tensor_type" or not path.exists():
            return None
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        values.append(numpy_helper.to_array(tensor))
    return values


def single_node(row, folder, model):
    """The Source of a model of one node whose operands are all graph inputs, or None."""
    graph = model.graph
    if len(graph.node) != 1 or graph.initializer or graph.sparse_initializer or model.functions:
        return None
    node = graph.node[0]
    data = folder / "test_data_set_0"
    inputs, outputs = read_tensors(data, "input", graph.input), read_tensors(data, "output", graph.output)
    if inputs is None or outputs is None or any(v.dtype == object for v in inputs + outputs):
        return None
    by_name = {info.name: value for info, value in zip(graph.input, inputs)}
    results = {info.name: value for info, value in zip(graph.output, outputs)}
    domain = domain_name(node.domain)
    opset = next(i.version for i in model.opset_import if domain_name(i.domain) == domain)
    version = onnx.defs.get_schema(node.op_type, opset, domain).since_version
    return Source(row["name"], domain, node.op_type, version, opset, {a.name: a for a in node.attribute},
                  [by_name.get(name) for name in node.input], [results.get(name) for name in node.output],
                  row["rtol"], row["atol"])


def read_cases(cases):
    """({pair: [case ids]}, {(domain, op): [Source]}) of the official suite."""
    shown, sources = {}, {}
    for row in json.loads((cases / "index.json").read_text()):
        folder = cases / row["kind"] / row["name"]
        if row["kind"] == "real":
            model = onnx.load(folder / "model.onnx", load_external_data=False)
        else:
            model = onnx.load(folder / "model.onnx")
        for pair in pairs_of_model(model):
            shown.setdefault(pair, []).append(f"{row['kind']}/{row['name']}")
        source = single_node(row, folder, model) if row["kind"] == "node" else None
        if source:
            sources.setdefault((source.domain, source.op), []).append(source)
    return shown, sources
