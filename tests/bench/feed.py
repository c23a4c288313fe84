"""The same inputs for every engine of tests/bench/run.py, and whether what they return agrees.

Inputs are a data set recorded beside the model (test_data_set_0) or made up: floats in [-1, 1), integers 0 to 7, since they may be
indices, sizes that the model leaves open 1. Sizes are fixed to those of the inputs in a copy of the model that all
engines get, unless none takes that (a branch for other sizes does not fit them). Files for the workers: tests/bench/worker.h.
"""
import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

FLOOR = 1e-6  # mean magnitude of differences that is none: what engines leave of sums near 1
TOLERANCE = {True: 1e-2, False: 1e-3}  # of outputs' mean magnitude; larger where float16 is computed with
RANDOM_OPS = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
QUANTISED = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinear", "Integer", "QGemm", "QAttention")
STRING = onnx.TensorProto.STRING


# ---- the graph ----
def graphs(graph):
    """A graph and those in its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]:
                yield from graphs(inner)


def real_inputs(graph):
    constants = {t.name for t in graph.initializer}
    return [i for i in graph.input if i.name not in constants]


def holds_half(graph):
    types = {t.data_type for g in graphs(graph) for t in g.initializer} | {i.type.tensor_type.elem_type for i in graph.input}
    return onnx.TensorProto.FLOAT16 in types


def is_float32(model):
    """Neither quantised nor of half precision."""
    graph = onnx.load(str(model), load_external_data=False).graph
    ops = {node.op_type for g in graphs(graph) for node in g.node}
    return not holds_half(graph) and not any(word in op for op in ops for word in QUANTISED)


def random_outputs(graph):
    """Names of what depends on an operator that draws random numbers."""
    drawn = set()
    for node in graph.node:
        inner = {n.op_type for a in node.attribute if a.HasField("g") for g in graphs(a.g) for n in g.node}
        if RANDOM_OPS & (inner | {node.op_type}) or drawn & set(node.input):
            drawn |= set(node.output)
    return {o.name for o in graph.output if o.name in drawn}


# ---- inputs ----
def to_array(tensor):
    if tensor.data_type == STRING:
        return np.array(list(tensor.string_data), dtype=object).reshape(list(tensor.dims))
    return numpy_helper.to_array(tensor)


def recorded(folder, inputs):
    """{name: array} of a data set's inputs: by name where the files have names that the model knows, else by place."""
    names = [i.name for i in inputs]
    files = sorted(folder.glob("input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    tensors = [onnx.load_tensor(str(f)) for f in files]
    named = [t.name for t in tensors]
    keys = named if len(set(named)) == len(named) and set(named) <= set(names) else names
    return dict(zip(keys, map(to_array, tensors)))


def made_up(model, inputs):
    random = np.random.default_rng(zlib.crc32(model.name.encode()))
    made = {}
    for i in inputs:
        tensor = i.type.tensor_type
        if not i.type.HasField("tensor_type") or tensor.elem_type == STRING:
            raise ValueError(f"no inputs can be made up for {i.name}")
        shape = [max(1, d.dim_value) for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if np.issubdtype(dtype, np.floating):
            made[i.name] = random.uniform(-1, 1, shape).astype(dtype)
        else:
            made[i.name] = random.integers(0, 2 if dtype == bool else 8, shape).astype(dtype)
    return made


def write_feed(path, inputs, arrays):
    with path.open("wb") as f:
        f.write(struct.pack("=Q", len(inputs)))
        for i in inputs:
            name, a = i.name.encode(), arrays[i.name]
            f.write(struct.pack("=Q", len(name)) + name + struct.pack(f"=QQ{a.ndim}q", i.type.tensor_type.elem_type, a.ndim, *a.shape))
            if a.dtype == object:
                f.write(b"".join(struct.pack("=Q", len(s)) + s for s in a.ravel()))
            else:
                f.write(np.ascontiguousarray(a).tobytes())


TURNS = 512  # rows that are not alike, more than a processor's branches are learnt by


def write_turns(path, model, inputs, arrays):
    """Rows for calls in turns (WORKER_TURNS in worker.h), where a tree ensemble gets one made-up row: what branches it takes would be learnt."""
    if len(inputs) != 1 or arrays[inputs[0].name].shape[:1] != (1,) or arrays[inputs[0].name].dtype != np.float32:
        return None
    rows = np.random.default_rng(zlib.crc32(model.name.encode()) + 1).uniform(-1, 1, (TURNS, arrays[inputs[0].name].size)).astype(np.float32)
    path.write_bytes(struct.pack("=QQ", rows[0].nbytes, TURNS) + rows.tobytes())
    return path


def write_data_set(folder, inputs, arrays):
    folder.mkdir()
    for k, i in enumerate(inputs):
        if arrays[i.name].dtype == object:
            tensor = onnx.helper.make_tensor(i.name, STRING, arrays[i.name].shape, list(arrays[i.name].ravel()))
        else:
            tensor = numpy_helper.from_array(arrays[i.name], i.name)
        (folder / f"input_{k}.pb").write_bytes(tensor.SerializeToString())


# ---- sizes ----
def fix_sizes(model, inputs, arrays):
    """True where anything was open: sizes of the inputs, and their names wherever they stand."""
    known, changed = {}, False
    for i in inputs:
        for d, n in zip(i.type.tensor_type.shape.dim, arrays[i.name].shape):
            if not d.HasField("dim_value"):
                known.setdefault(d.dim_param, set()).add(n)
                changed, d.dim_value = True, n
    known = {name: min(n) for name, n in known.items() if name and len(n) == 1}  # some exporters name all alike
    for g in graphs(model.graph):
        for value in [*g.input, *g.output, *g.value_info]:
            for d in value.type.tensor_type.shape.dim:
                if d.dim_param in known:
                    d.dim_value = known[d.dim_param]
    return changed


def copy_external(model, source, folder):
    for g in graphs(model.graph):
        for t in g.initializer:
            for entry in t.external_data:
                if entry.key == "location" and not (folder / entry.value).exists():
                    (folder / entry.value).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source / entry.value, folder / entry.value)


class Case:
    """A model with its inputs: `model`, the file for all engines; `feed` for workers, `data_set` for castnet."""

    def __init__(self, path, work, free=False):
        self.name = path.parent.name if path.stem == "model" else path.stem
        self.folder = Path(work) / self.name
        self.folder.mkdir()
        proto = onnx.load(str(path), load_external_data=False)
        inputs = real_inputs(proto.graph)
        beside = path.parent / "test_data_set_0"
        arrays = recorded(beside, inputs) if beside.is_dir() else made_up(path, inputs)
        self.made_up = not beside.is_dir()
        self.outputs = list(proto.graph.output)
        self.ops = {n.op_type for n in proto.graph.node}
        self.random = random_outputs(proto.graph)
        self.tolerance = TOLERANCE[holds_half(proto.graph)]
        self.feed, self.data_set, self.model = self.folder / "feed", self.folder / "data", path
        write_feed(self.feed, inputs, arrays)
        write_data_set(self.data_set, inputs, arrays)
        trees = self.made_up and any(op.startswith("TreeEnsemble") for op in self.ops)
        self.turns = write_turns(self.folder / "turns", path, inputs, arrays) if trees else None
        self.free = free
        if not free and fix_sizes(proto, inputs, arrays):
            self.model = self.folder / f"{self.name}.onnx"
            copy_external(proto, path.parent, self.folder)
            onnx.save(proto, str(self.model))


# ---- outputs ----
class Reader:
    def __init__(self, path):
        self.bytes, self.at = path.read_bytes(), 0

    def take(self, n):
        if n > len(self.bytes) - self.at:
            raise ValueError("the outputs are cut off")
        self.at += n
        return self.bytes[self.at - n:self.at]

    def number(self):
        return struct.unpack("=Q", self.take(8))[0]

    def tensor(self, elem_type):
        shape = [self.number() for _ in range(self.number())]
        count = int(np.prod(shape, dtype=object)) if shape else 1
        if elem_type == STRING:
            return np.array([self.take(self.number()) for _ in range(count)], dtype=object).reshape(shape)
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))
        return np.frombuffer(self.take(count * dtype.itemsize), dtype).reshape(shape)

    def value(self, t):
        """Arrays, lists of sequences, dictionaries of maps."""
        if t.HasField("tensor_type"):
            return self.tensor(t.tensor_type.elem_type)
        if t.HasField("sequence_type"):
            return [self.value(t.sequence_type.elem_type) for _ in range(self.number())]
        if t.HasField("map_type"):
            self.number()
            keys = self.tensor(t.map_type.key_type)
            return dict(zip(keys.tolist(), self.tensor(t.map_type.value_type.tensor_type.elem_type)))
        raise ValueError("optional outputs are not compared")


def read_outputs(case, path):
    reader = Reader(path)
    values = {o.name: reader.value(o.type) for o in case.outputs}
    if reader.at != len(reader.bytes):
        raise ValueError("the outputs are longer than their types say")
    return values


def close(a, b, tolerance):
    """Arrays: mean magnitude of the differences against that of the values, what is not finite in the same places."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(close(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and close(*(np.array([float(d[k]) for k in a]) for d in (a, b)), tolerance)
    if a.shape != b.shape:
        return False
    if a.dtype == object or not a.size:
        return bool((a == b).all())
    a, b = (x.astype(np.complex128 if np.iscomplexobj(x) else np.float64).ravel() for x in (a, b))
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return False
    return float(np.abs(a[finite] - b[finite]).sum()) <= tolerance * float(np.abs(b[finite]).sum()) + FLOOR * b.size


def differing(case, own, peer):
    """Names of the outputs that differ; random ones are left out."""
    return [name for name in own if name not in case.random and not close(own[name], peer[name], case.tolerance)]
