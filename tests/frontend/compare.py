#!/usr/bin/env python3
"""Compares castnet's ONNX reader with Google's protobuf, field by field, over every model and data file of directories
and over those of make_samples.py.

usage: compare.py DUMP_MODEL [DIRECTORY...]     (DUMP_MODEL: the built tests/frontend/dump_model)

Data files (input_0.pb, output_0.pb) are decoded as the type that the model beside them declares.
Exit status: 0 all agree, 1 some differ, 77 the onnx package is not installed.
"""
import os
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import onnx
    from onnx import ModelProto, TensorProto
except ImportError:
    print("skipped: the Python package onnx is not installed")
    sys.exit(77)

import make_samples  # noqa: E402

TYPE_KINDS = {
    "tensor_type": "tensor", "sparse_tensor_type": "sparse", "sequence_type": "sequence", "map_type": "map",
    "optional_type": "optional", "opaque_type": "opaque", None: "none",
}
# Bytes that one entry of int32_data stands for; all other types of that field take one.
INT32_BYTES = {TensorProto.INT32: 4, TensorProto.INT16: 2, TensorProto.UINT16: 2, TensorProto.FLOAT16: 2,
               TensorProto.BFLOAT16: 2}


def raw(value):
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)


def as_bytes(key, value):
    value = raw(value)
    if len(value) > 64:
        return f"{key} {len(value)}:{zlib.adler32(value):08x}"
    return f"{key} x{value.hex()}"


def strings(message, *names):
    return [as_bytes(key, getattr(message, field)) for key, field in names if message.HasField(field)]


def same(*names):
    return [(n, n) for n in names]


def as_float(key, value):
    return f"{key} {struct.unpack('<I', struct.pack('<f', value))[0]:08x}"


def typed_data(t):
    if t.float_data:
        return struct.pack(f"<{len(t.float_data)}f", *t.float_data)
    if t.double_data:
        return struct.pack(f"<{len(t.double_data)}d", *t.double_data)
    if t.int64_data:
        return struct.pack(f"<{len(t.int64_data)}q", *t.int64_data)
    if t.uint64_data:
        size = 4 if t.data_type == TensorProto.UINT32 else 8
        return b"".join(v.to_bytes(size, "little") for v in t.uint64_data)
    size = INT32_BYTES.get(t.data_type, 1)
    return b"".join((v & ((1 << 8 * size) - 1)).to_bytes(size, "little") for v in t.int32_data)


def external_data(t, directory):
    entries = {e.key: e.value for e in t.external_data}
    with open(os.path.join(directory, entries["location"]), "rb") as f:
        f.seek(int(entries.get("offset", 0)))
        return f.read(int(entries["length"]) if "length" in entries else -1)


def tensor(key, t, directory):
    elements = 1
    for d in t.dims:
        elements *= d
    external = t.data_location == TensorProto.EXTERNAL
    data = external_data(t, directory) if external else t.raw_data or typed_data(t)
    out = [f"{key} {{", *strings(t, *same("name")), f"data_type {t.data_type}", *(f"dim {d}" for d in t.dims),
           f"elements {elements}", f"raw {int(t.HasField('raw_data'))}", f"external {int(external)}"]
    if data:
        out.append(as_bytes("data", data))
    return out + [as_bytes("string", s) for s in t.string_data] + ["}"]


def sparse(key, s, directory):
    return [f"{key} {{", *tensor("values", s.values, directory), *tensor("indices", s.indices, directory),
            *(f"dim {d}" for d in s.dims), "}"]


def dim(d):
    kind = d.WhichOneof("value")
    return "dim none" if kind is None else f"dim {d.dim_value}" if kind == "dim_value" else as_bytes("dim", d.dim_param)


def type_(key, t):
    field = t.WhichOneof("value")
    kind = TYPE_KINDS[field]
    inner = getattr(t, field) if field else None
    has_shape = kind in ("tensor", "sparse") and inner.HasField("shape")
    out = [f"{key} {{", f"kind {kind}", f"elem_type {inner.elem_type if kind in ('tensor', 'sparse') else 0}",
           f"key_type {inner.key_type if kind == 'map' else 0}"]
    if has_shape:
        out += [f"rank {len(inner.shape.dim)}", *(dim(d) for d in inner.shape.dim)]
    if kind == "opaque":
        out += strings(inner, ("opaque_domain", "domain"), ("opaque_name", "name"))
    out += strings(t, *same("denotation"))
    if kind in ("sequence", "optional") and inner.HasField("elem_type"):
        out += type_("elem", inner.elem_type)
    if kind == "map" and inner.HasField("value_type"):
        out += type_("elem", inner.value_type)
    return out + ["}"]


def attr(key, a, d):
    out = [f"{key} {{", *strings(a, ("name", "name"), ("ref", "ref_attr_name"))]
    if a.HasField("type"):
        out.append(f"type {a.type}")
    if a.HasField("f"):
        out.append(as_float("f", a.f))
    if a.HasField("i"):
        out.append(f"i {a.i}")
    out += strings(a, *same("s"))
    for name, field, fn in (("t", "t", tensor), ("g", "g", graph), ("tp", "tp", lambda k, v, _: type_(k, v)),
                            ("sparse", "sparse_tensor", sparse)):
        if a.HasField(field):
            out += fn(name, getattr(a, field), d)
    out += [as_float("floats", f) for f in a.floats] + [f"ints {i}" for i in a.ints]
    out += [as_bytes("strings", s) for s in a.strings]
    for name, fn in (("tensors", tensor), ("graphs", graph), ("type_protos", lambda k, v, _: type_(k, v)),
                     ("sparse_tensors", sparse)):
        for v in getattr(a, name):
            out += fn(name, v, d)
    return out + ["}"]


def nodes(list_, d):
    out = []
    for n in list_:
        out += ["node {", *strings(n, *same("name", "op_type", "domain", "overload"))]
        out += [as_bytes("input", s) for s in n.input] + [as_bytes("output", s) for s in n.output]
        for a in n.attribute:
            out += attr("attr", a, d)
        out.append("}")
    return out


def values(key, list_):
    out = []
    for v in list_:
        out += [f"{key} {{", *strings(v, *same("name"))]
        if v.HasField("type"):
            out += type_("type", v.type)
        out.append("}")
    return out


def graph(key, g, d):
    out = [f"{key} {{", *strings(g, *same("name")), *nodes(g.node, d)]
    for t in g.initializer:
        out += tensor("initializer", t, d)
    for s in g.sparse_initializer:
        out += sparse("sparse", s, d)
    out += values("graph_input", g.input) + values("graph_output", g.output) + values("value_info", g.value_info)
    return out + ["}"]


def opsets(list_):
    out = []
    for o in list_:
        out += ["opset {", *strings(o, *same("domain")), f"version {o.version}", "}"]
    return out


def function(f, d):
    out = ["function {", *strings(f, *same("name", "domain", "overload"))]
    for key in ("input", "output", "attribute"):
        out += [as_bytes(key, s) for s in getattr(f, key)]
    for a in f.attribute_proto:
        out += attr("attribute_proto", a, d)
    return out + nodes(f.node, d) + opsets(f.opset_import) + values("value_info", f.value_info) + ["}"]


def model(m, d):
    out = [f"ir_version {m.ir_version}", f"model_version {m.model_version}", *opsets(m.opset_import)]
    out += strings(m, *same("producer_name", "producer_version", "domain"), ("doc", "doc_string"))
    out += graph("graph", m.graph, d)
    for f in m.functions:
        out += function(f, d)
    for e in m.metadata_props:
        out += strings(e, *same("key", "value"))
    return out


def sequence_items(s, d):
    out = []
    for name, fn in (("tensor_values", lambda v, _: tensor("tensor", v, d)),
                     ("sparse_tensor_values", lambda v, _: sparse("sparse", v, d)), ("sequence_values", sequence),
                     ("map_values", map_), ("optional_values", optional)):
        for v in getattr(s, name):
            out += fn(v, d)
    return out


def sequence(s, d):
    return ["sequence {", *strings(s, *same("name")), f"elem_type {s.elem_type}", *sequence_items(s, d), "}"]


def map_(m, d):
    return ["map {", *strings(m, *same("name")), f"elem_type {m.values.elem_type}", f"key_type {m.key_type}",
            *(f"key {k}" for k in m.keys), *(as_bytes("key", k) for k in m.string_keys), *sequence_items(m.values, d),
            "}"]


def optional(o, d):
    out = ["optional {", *strings(o, *same("name")), f"elem_type {o.elem_type}"]
    for name, fn in (("tensor_value", lambda v, _: tensor("tensor", v, d)),
                     ("sparse_tensor_value", lambda v, _: sparse("sparse", v, d)), ("sequence_value", sequence),
                     ("map_value", map_), ("optional_value", optional)):
        if o.HasField(name):
            out += fn(getattr(o, name), d)
    return out + ["}"]


KINDS = {
    "model": (ModelProto, model),
    "tensor": (TensorProto, lambda v, d: tensor("tensor", v, d)),
    "sparse": (onnx.SparseTensorProto, lambda v, d: sparse("sparse", v, d)),
    "sequence": (onnx.SequenceProto, sequence),
    "map": (onnx.MapProto, map_),
    "optional": (onnx.OptionalProto, optional),
}


def expected(kind, path):
    proto, fn = KINDS[kind]
    message = proto()
    with open(path, "rb") as f:
        message.ParseFromString(f.read())
    return fn(message, os.path.dirname(path)), message


def data_files(path, m):
    """(kind, file) of the data sets beside a model."""
    top = os.path.dirname(path)
    found = []
    for entry in sorted(os.listdir(top)):
        if not entry.startswith("test_data_set"):
            continue
        for prefix, list_ in (("input", m.graph.input), ("output", m.graph.output)):
            for i, v in enumerate(list_):
                file = os.path.join(top, entry, f"{prefix}_{i}.pb")
                if os.path.exists(file):
                    found.append((TYPE_KINDS[v.type.WhichOneof("value")], file))
    return found


def dumped(program, kind, files):
    """What the program printed of each file, as lists of lines."""
    out = {}
    for at in range(0, len(files), 200):
        done = subprocess.run([program, kind, *files[at:at + 200]], stdout=subprocess.PIPE, check=True)
        for block in done.stdout.decode("utf-8", "replace").split("== ")[1:]:
            path, *lines = block.splitlines()
            out[path] = lines
    return out


def report(path, want, got):
    for i, pair in enumerate(zip(want + ["(end)"], got + ["(end)"])):
        if pair[0] != pair[1]:
            print(f"{path}: line {i + 1}: protobuf has {pair[0]!r}, castnet {pair[1]!r}")
            return


def models_below(top):
    found = []
    for root, dirs, files in os.walk(top):
        dirs.sort()
        found += [os.path.join(root, f) for f in sorted(files) if f.endswith(".onnx")]
    return found


def compare(program, tops):
    """(agreeing, differing) files."""
    jobs = {"model": [f for top in tops for f in models_below(top)]}
    wants = {}
    for path in jobs["model"]:
        wants[path], message = expected("model", path)
        for kind, file in data_files(path, message):
            jobs.setdefault(kind, []).append(file)
    bad = total = 0
    for kind, files in jobs.items():
        total += len(files)
        got = dumped(program, kind, files)
        for path in files:
            want = wants.get(path) or expected(kind, path)[0]
            if want != got.get(path):
                bad += 1
                report(path, want, got.get(path, []))
        print(f"{kind}: {len(files)} files")
    return total - bad, bad


def main():
    with tempfile.TemporaryDirectory() as samples:
        make_samples.main(samples)
        passed, failed = compare(sys.argv[1], [samples, *sys.argv[2:]])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
