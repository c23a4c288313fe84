"""Cases of operators that hold sequences, optionals, maps or graphs, and of constants: written out for any type."""
import dataclasses

import numpy as np
import onnx
from onnx import helper, numpy_helper

import judge
import recast


@dataclasses.dataclass
class Case:
    node: onnx.NodeProto
    opset: int
    inputs: list  # None where left out
    outputs: list
    oracle: str
    rtol: float = 0.0
    atol: float = 0.0
    random: bool = False
    types: tuple = ()  # ([TypeProto of inputs], [of outputs]) where they are no tensors

    def model(self, schema):
        if self.types:
            return typed_model(self, schema)
        kinds = [None if v is None else recast.name_of(v) for v in self.outputs]
        return judge.model_of(self.node, schema.domain, self.opset, self.inputs, self.outputs, kinds)


def typed_model(case, schema):
    before = [onnx.ValueInfoProto(name=n, type=t) for n, t in zip([n for n in case.node.input if n], case.types[0], strict=True)]
    after = [onnx.ValueInfoProto(name=n, type=t) for n, t in zip([n for n in case.node.output if n], case.types[1], strict=True)]
    graph = helper.make_graph([case.node], f"{case.node.op_type}_{case.opset}", before, after)
    imports = [helper.make_opsetid(schema.domain, case.opset)] + ([] if schema.domain == "" else [helper.make_opsetid("", 17)])
    recent = schema.domain == "" and case.opset > 22
    return helper.make_model(graph, opset_imports=imports, ir_version=13 if recent else 8 if schema.domain or case.opset > 6 else 3, producer_name="castnet-tests")


# ---- types by their text ----
def parse(kind):
    """("tensor", element) or (form, what it holds)."""
    head, _, rest = kind.partition("(")
    if head == "tensor":
        return "tensor", rest[:-1]
    return head, parse(rest[:-1]) if head != "map" else tuple(word.strip() for word in rest[:-1].split(","))


def type_proto(kind, shape=None):
    form, held = parse(kind)
    if form == "tensor":
        return helper.make_tensor_type_proto(recast.TYPES[held], shape)
    if form == "seq":
        return helper.make_sequence_type_proto(type_proto(text_of(held), shape))
    if form == "optional":
        return helper.make_optional_type_proto(type_proto(text_of(held), shape))
    value = helper.make_tensor_type_proto(recast.TYPES[held[1]], [])
    return helper.make_map_type_proto(recast.TYPES[held[0]], value)


def text_of(parsed):
    return f"tensor({parsed[1]})" if parsed[0] == "tensor" else f"map({parsed[1][0]}, {parsed[1][1]})" if parsed[0] == "map" else f"{parsed[0]}({text_of(parsed[1])})"


def tensor(name, shape, start=1):
    """Different values as far as the type has them."""
    numbers = np.arange(start, start + int(np.prod(shape)), dtype=np.int64).reshape(shape)
    if name == "string":
        return np.array([f"s{v}" for v in numbers.reshape(-1)], object).reshape(shape)
    return recast.recast(numbers - 2 if name in ("float", "double", "int8", "int64") else numbers, name)


SHAPE = (2, 3)


def value(kind, start=1):
    form, held = parse(kind)
    if form == "tensor":
        return tensor(held, SHAPE, start)
    if form == "seq":
        return [tensor(held[1], SHAPE, start), tensor(held[1], SHAPE, start + 3)]
    return value(text_of(held), start)


def node_of(schema, n_in, n_out, **attributes):
    return helper.make_node(schema.name, [f"x{k}" for k in range(n_in)], [f"y{k}" for k in range(n_out)], name="node", domain=schema.domain, **attributes)


def plain(schema, kinds_in, values_in, kinds_out, values_out, shapes=None, **attributes):
    """A case of one node, by the texts of its operands' types. shapes: of each operand and result, else SHAPE."""
    shapes = shapes or [SHAPE] * (len(kinds_in) + len(kinds_out))
    types = [type_proto(k, s) for k, s in zip(kinds_in + kinds_out, shapes)]
    n = len(kinds_in)
    return Case(node_of(schema, n, len(kinds_out), **attributes), schema.since_version, values_in, values_out, "what the operator moves", types=(types[:n], types[n:]))


# ---- sequences and optionals ----
I64 = "tensor(int64)"


def held_tensor(kind):
    """The tensor type within a type's text."""
    return kind[kind.index("tensor("):].rstrip(")") + ")"


def seq_of(kind):
    return kind if kind.startswith("seq(") else f"seq({kind})"


def index(k, name="int64"):
    return np.array(k, recast.dtype_of(name))


def index_kind(pair, variable="I"):
    return pair.type if pair.variable == variable else I64


def sequence_at(schema, pair):
    kind = "tensor(float)" if pair.variable == "I" else held_tensor(pair.type)
    items, place = value(seq_of(kind)), index_kind(pair)
    return plain(schema, [seq_of(kind), place], [items, index(-1, recast.element(place))], [kind], [items[-1]], [SHAPE, (), SHAPE])


def sequence_construct(schema, pair):
    kind = held_tensor(pair.type)
    a, b = value(kind), value(kind, 5)
    return plain(schema, [kind, kind], [a, b], [seq_of(kind)], [[a, b]])


def sequence_empty(schema, pair):
    name = recast.element(held_tensor(pair.type))
    return plain(schema, [], [], [pair.type], [[]], dtype=recast.TYPES[name])


def sequence_erase(schema, pair):
    kind = "tensor(float)" if pair.variable == "I" else held_tensor(pair.type)
    items, place = value(seq_of(kind)), index_kind(pair)
    return plain(schema, [seq_of(kind), place], [items, index(0, recast.element(place))], [seq_of(kind)], [items[1:]], [SHAPE, (), SHAPE])


def sequence_insert(schema, pair):
    kind = "tensor(float)" if pair.variable == "I" else held_tensor(pair.type)
    items, new, place = value(seq_of(kind)), value(kind, 7), index_kind(pair)
    return plain(schema, [seq_of(kind), kind, place], [items, new, index(1, recast.element(place))], [seq_of(kind)], [[items[0], new, items[1]]],
                 [SHAPE, SHAPE, (), SHAPE])


def sequence_length(schema, pair):
    kind = seq_of("tensor(float)" if pair.variable == "I" else held_tensor(pair.type))
    return plain(schema, [kind], [value(kind)], [I64], [np.array(2, np.int64)], [SHAPE, ()])


def concat_from_sequence(schema, pair):
    kind = held_tensor(pair.type)
    items = value(seq_of(kind))
    return plain(schema, [seq_of(kind)], [items], [kind], [np.concatenate(items)], [SHAPE, (4, 3)], axis=0)


def split_to_sequence(schema, pair):
    kind = "tensor(float)" if pair.variable == "I" else held_tensor(pair.type)
    whole, places = tensor(recast.element(kind), (3, 2)), index_kind(pair)
    sizes = np.array([1, 2], recast.dtype_of(recast.element(places)))
    return plain(schema, [kind, places], [whole, sizes], [seq_of(kind)], [[whole[:1], whole[1:]]], [(3, 2), (2,), (None, 2)])


def optional(schema, pair):
    kind = pair.type if pair.variable == "V" else pair.type[len("optional("):-1]
    v = value(kind)
    return plain(schema, [kind], [v], [f"optional({kind})"], [v])


def optional_get_element(schema, pair):
    # V is what comes out; O what goes in: an optional, or (from 18 on) what one holds.
    kind = pair.type if pair.variable == "O" else f"optional({pair.type})"
    held = kind[len("optional("):-1] if kind.startswith("optional(") else kind
    v = value(held)
    return plain(schema, [kind], [v], [held], [v])


def optional_has_element(schema, pair):
    kind = pair.type if pair.variable == "O" else "optional(tensor(float))"
    return plain(schema, [kind], [value(kind)], ["tensor(bool)"], [np.array(True)], [SHAPE, ()])


def identity(schema, pair):
    if recast.element(pair.type):
        return None
    v = value(pair.type)
    return plain(schema, [pair.type], [v], [pair.type], [v])


# ---- graphs ----
def body(name, nodes, inputs, outputs):
    return helper.make_graph(nodes, name, [helper.make_value_info(n, t) for n, t in inputs], [helper.make_value_info(n, t) for n, t in outputs])


def if_case(schema, pair):
    """Both branches give on what lies around them: the condition chooses. (Sequences and optionals of any type; Identity takes them from 14 and 16 on.)"""
    kind = pair.type if pair.variable == "V" else "tensor(float)"
    a, b = value(kind), value(kind, 4)
    if schema.since_version < 14 and kind.startswith("seq("):
        return if_of_sequences(schema, kind)
    branches = {f"{word}_branch": body(word, [helper.make_node("Identity", [given], [f"{word}_out"])], [], [(f"{word}_out", type_proto(kind, SHAPE))])
                for word, given in (("then", "a"), ("else", "b"))}
    node = helper.make_node("If", ["x0"], ["y0"], name="node", **branches)
    pass_on = [helper.make_node("Identity", ["x1"], ["a"]), helper.make_node("Identity", ["x2"], ["b"])]
    kinds = ["tensor(bool)", kind, kind]
    return Graph(pass_on + [node], schema.since_version, [np.array(False), a, b], [b], "what the operator moves",
                 types=([type_proto(k, s) for k, s in zip(kinds, [(), SHAPE, SHAPE])], [type_proto(kind, SHAPE)]))


def if_of_sequences(schema, kind):
    """Where no Identity takes sequences yet, the branches make them."""
    one = held_tensor(kind)
    a, b = value(one), value(one, 4)
    branches = {f"{word}_branch": body(word, [helper.make_node("SequenceConstruct", names, [f"{word}_out"])], [], [(f"{word}_out", type_proto(kind, SHAPE))])
                for word, names in (("then", ["x1", "x2"]), ("else", ["x2", "x1"]))}
    node = helper.make_node("If", ["x0"], ["y0"], name="node", **branches)
    kinds = ["tensor(bool)", one, one]
    return Graph([node], schema.since_version, [np.array(False), a, b], [[b, a]], "what the operator moves",
                 types=([type_proto(k, s) for k, s in zip(kinds, [(), SHAPE, SHAPE])], [type_proto(kind, SHAPE)]))


def loop_case(schema, pair):
    kind = pair.type if pair.variable == "V" else "tensor(float)"
    a, b = value(kind), value(kind, 4)
    one = type_proto("tensor(bool)", []), type_proto(I64, [])
    t = type_proto(kind, SHAPE)
    given = [("i", one[1]), ("c", one[0]), ("p", t), ("q", t)]
    inner = body("swap", [helper.make_node("Identity", ["c"], ["c_out"]), helper.make_node("Identity", ["q"], ["p_out"]), helper.make_node("Identity", ["p"], ["q_out"])],
                 given, [("c_out", one[0]), ("p_out", t), ("q_out", t)])
    if schema.since_version < 14 and kind.startswith("seq("):  # no Identity takes sequences yet
        grow = helper.make_node("Identity", ["c"], ["c_out"]), helper.make_node("SequenceInsert", ["q", "n"], ["p_out"]), helper.make_node("SequenceErase", ["p_out"], ["q_out"])
        return loop_of_sequences(schema, kind, body("grow", list(grow), given, [("c_out", one[0]), ("p_out", t), ("q_out", t)]))
    node = helper.make_node("Loop", ["x0", "x1", "x2", "x3"], ["y0", "y1"], name="node", body=inner)
    return Graph([node], schema.since_version, [np.array(3, np.int64), np.array(True), a, b], [b, a], "what the operator moves",
                 types=([one[1], one[0], t, t], [t, t]))


def loop_of_sequences(schema, kind, inner):
    """Thrice: p = q and one more, q = p without its last."""
    one = held_tensor(kind)
    a, b, new = value(kind), value(kind, 4), value(one, 2)
    node = helper.make_node("Loop", ["x0", "x1", "x2", "x3"], ["y0", "y1"], name="node", body=inner)
    rename = helper.make_node("Identity", ["x4"], ["n"])
    kinds = [I64, "tensor(bool)", kind, kind, one]
    types = [type_proto(k, s) for k, s in zip(kinds, [(), (), SHAPE, SHAPE, SHAPE])]
    return Graph([rename, node], schema.since_version, [np.array(3, np.int64), np.array(True), a, b, new], [[*b, new], b], "what the operator moves",
                 types=(types, types[2:4]))


def scan_case(schema, pair):
    kind = pair.type if pair.variable == "V" else "tensor(float)"
    a, b = tensor(recast.element(kind), (3,)), tensor(recast.element(kind), (4, 3), 5)
    row = type_proto(kind, [3])
    inner = body("shift", [helper.make_node("Identity", ["x"], ["s_out"]), helper.make_node("Identity", ["s"], ["x_out"])],
                 [("s", row), ("x", row)], [("s_out", row), ("x_out", row)])
    out = np.concatenate([a[None], b[:3]])
    names, values, lead = ["x0", "x1"], [a, b], ()
    if schema.since_version == 8:
        names, values, lead = ["", *names], [None, a[None], b[None]], (1,)
    node = helper.make_node("Scan", names, ["y0", "y1"], name="node", body=inner, num_scan_inputs=1)
    results = [b[3], out] if not lead else [b[3][None], out[None]]
    return Graph([node], schema.since_version, values, results, "what the operator moves",
                 types=([type_proto(kind, (*lead, 3)), type_proto(kind, (*lead, 4, 3))], [type_proto(kind, (*lead, 3)), type_proto(kind, (*lead, 4, 3))]))


def sequence_map(schema, pair):
    kind = pair.type if pair.variable in ("S", "V") else "seq(tensor(float))"
    one = held_tensor(kind)
    items = value(seq_of(one))
    if pair.variable == "V" and not kind.startswith("seq("):
        kind = one  # an operand that every call of the body sees whole
    t = type_proto(one, SHAPE)
    inner = body("pick", [helper.make_node("Identity", ["b"], ["c"])], [("a", t), ("b", t)], [("c", t)])
    node = helper.make_node("SequenceMap", ["x0", "x1"], ["y0"], name="node", body=inner)
    second, expected = (value(one, 9), [value(one, 9)] * 2) if kind == one else (items[::-1], items[::-1])
    return Case(node, schema.since_version, [items, second], [expected], "what the operator moves",
                types=([type_proto(seq_of(one), SHAPE), type_proto(kind, SHAPE)], [type_proto(seq_of(one), SHAPE)]))


@dataclasses.dataclass
class Graph:
    """A case of some nodes."""
    nodes: list
    opset: int
    inputs: list
    outputs: list
    oracle: str
    types: tuple
    rtol: float = 0.0
    atol: float = 0.0
    random: bool = False
    imports: tuple = ()

    def model(self, schema):
        before = [onnx.ValueInfoProto(name=f"x{k}", type=t) for k, t in enumerate(self.types[0])]
        after = [onnx.ValueInfoProto(name=f"y{k}", type=t) for k, t in enumerate(self.types[1])]
        graph = helper.make_graph(self.nodes, f"{schema.name}_{self.opset}", before, after)
        recent = self.opset > 22
        return helper.make_model(graph, opset_imports=list(self.imports) or [helper.make_opsetid("", self.opset)], ir_version=13 if recent else 8 if self.opset > 6 else 3,
                                 producer_name="castnet-tests")


# ---- constants ----
def constant(schema, pair):
    v = tensor(recast.element(pair.type), SHAPE)
    return plain(schema, [], [], [pair.type], [v], value=numpy_helper.from_array(v))


def constant_of_shape(schema, pair):
    name = recast.element(pair.type) if pair.variable == "T2" else "float"
    one = tensor(name, (1,), 3)
    return plain(schema, [I64], [np.array(SHAPE, np.int64)], [f"tensor({name})"], [np.full(SHAPE, one[0], one.dtype)], [(2,), SHAPE], value=numpy_helper.from_array(one))


# ---- maps ----
def cast_map(schema, pair):
    kind = pair.type if pair.variable == "T1" else "map(int64, float)"
    to = recast.element(pair.type) if pair.variable == "T2" else "float"
    words = kind.endswith("string)")
    given = {1: "3", 4: "-2", 7: "11"} if words else {1: np.float32(3), 4: np.float32(-2), 7: np.float32(11)}
    texts = ["3", "-2", "11"] if words else ["3.0", "-2.0", "11.0"]
    out = np.array([texts], object) if to == "string" else np.array([[3, -2, 11]], recast.dtype_of(to))
    return plain(schema, [kind], [given], [f"tensor({to})"], [out], [(), (1, 3)], cast_to={"float": "TO_FLOAT", "string": "TO_STRING", "int64": "TO_INT64"}[to])


def dict_vectorizer(schema, pair):
    keys, element = parse(pair.type)[1] if pair.variable == "T1" else (("int64", recast.element(pair.type)) if recast.element(pair.type) != "int64" else ("string", "int64"))
    vocabulary = {"string_vocabulary": ["a", "b", "c"]} if keys == "string" else {"int64_vocabulary": [5, 6, 7]}
    names = next(iter(vocabulary.values()))
    held = tensor(element, (2,), 4)
    out = np.array(["", "", ""], object) if element == "string" else np.zeros(3, held.dtype)
    out[2], out[0] = held[0], held[1]
    return plain(schema, [f"map({keys}, {element})"], [{names[2]: held[0], names[0]: held[1]}], [f"tensor({element})"], [out], [(), (3,)], **vocabulary)


def zip_map(schema, pair):
    words = "string" in pair.type
    keys = ["a", "b"] if words else [3, 8]
    rows = np.array([[0.25, 0.75], [1.0, 0.0]], np.float32)
    out = [{k: v for k, v in zip(keys, row)} for row in rows]
    case = plain(schema, ["tensor(float)"], [rows], [f"seq(map({'string' if words else 'int64'}, float))"], [out], [(2, 2), ()],
                 **{"classlabels_strings" if words else "classlabels_int64s": keys})
    return case


# ---- conversions of bits ----
BITS = {8: ("uint8", "int8"), 16: ("uint16", "int16"), 32: ("uint32", "int32"), 64: ("uint64", "int64"), 128: ("complex128", "complex128"),
        4: ("uint4", "int4"), 2: ("uint2", "int2")}
WIDTH = {"bool": 8, "float": 32, "double": 64, "float16": 16, "bfloat16": 16, "complex64": 64, "complex128": 128, "float4e2m1": 4}


def width_of(name):
    return WIDTH.get(name) or int(name.removeprefix("u").removeprefix("int") if name[:5] != "float" else 8)


def bit_cast(schema, pair):
    name = recast.element(pair.type)
    other = next(n for n in BITS[width_of(name)] if n != name or width_of(name) == 128)
    given, to = (name, other) if pair.variable == "T1" else (other, name)
    x = tensor(given, SHAPE, -2)
    if to == "bool":
        x = np.abs(x) % 2
    return plain(schema, [f"tensor({given})"], [x], [f"tensor({to})"], [np.ascontiguousarray(x).view(recast.dtype_of(to))], to=recast.TYPES[to])


# ---- tables ----
def label_encoder(schema, pair):
    if schema.since_version < 4:
        return None
    kinds = {"T1": "int64", "T2": "float", pair.variable: recast.element(pair.type)}
    keys, values = tensor(kinds["T1"], (3,), 4), tensor(kinds["T2"], (3,), 7)
    default = tensor(kinds["T2"], (1,), 3)
    x = np.array([keys[2], tensor(kinds["T1"], (1,), 50)[0], keys[0], keys[1]], keys.dtype)
    y = np.array([values[2], default[0], values[0], values[1]], values.dtype)
    tensors = {name: numpy_helper.from_array(v) for name, v in (("keys_tensor", keys), ("values_tensor", values), ("default_tensor", default))}
    return plain(schema, [f"tensor({kinds['T1']})"], [x], [f"tensor({kinds['T2']})"], [y], [(4,), (4,)], **tensors)


def imputer(schema, pair):
    x = tensor(recast.element(pair.type), SHAPE, 4)
    y = x.copy()
    y[0, 1] = 10
    whole = "int" in pair.type
    given = {"imputed_value_int64s": [10], "replaced_value_int64": int(x[0, 1])} if whole else {"imputed_value_floats": [10.0], "replaced_value_float": float(x[0, 1])}
    return plain(schema, [pair.type], [x], [pair.type], [y], **given)


def tf_idf(schema, pair):
    if pair.type != "tensor(string)":
        return None
    x = np.array(["a", "b", "c", "a", "b"], object)
    return plain(schema, [pair.type], [x], ["tensor(float)"], [np.array([2, 0, 1, 2], np.float32)], [(5,), (4,)], mode="TF", min_gram_length=1, max_gram_length=2,
                 max_skip_count=0, ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3], pool_strings=["a", "z", "c", "a", "b"])


def qlinear_matmul(schema, pair):
    """float8 operands and results: exact products, one rounding."""
    name = recast.element(pair.type)
    if name not in recast.FLOAT8:
        return None
    a, b = tensor(name, SHAPE), tensor(name, (3, 2), 4)
    zero, scales = np.zeros((), a.dtype), [np.float32(s) for s in (0.5, 0.25, 2.0)]
    product = (a.astype(np.float64) @ b.astype(np.float64)) * 0.0625
    inputs = [a, scales[0], zero, b, scales[1], zero, scales[2], zero]
    kinds = [pair.type, "tensor(float)", pair.type, pair.type, "tensor(float)", pair.type, "tensor(float)", pair.type]
    return plain(schema, kinds, [np.asarray(v) for v in inputs], [pair.type], [product.astype(np.float32).astype(a.dtype)],
                 [SHAPE, (), (), (3, 2), (), (), (), (), (2, 2)])


# ---- gradients ----
def gradient(schema, pair):
    """Of x times the number of z's elements: z may be of any type."""
    x_kind, z_kind = (pair.type, I64) if pair.variable == "T2" else ("tensor(float)", pair.type)
    x, z = value(x_kind), value(z_kind)
    nodes = [helper.make_node("Size", ["x1"], ["n"]), helper.make_node("Cast", ["n"], ["m"], to=recast.TYPES[recast.element(x_kind)]),
             helper.make_node("Mul", ["x0", "m"], ["y"]),
             helper.make_node("Gradient", ["x0", "x1"], ["y0"], domain=schema.domain, xs=["x0"], zs=["x1"], y="y")]
    return Graph(nodes, 17, [x, z], [np.full(SHAPE, 6, x.dtype)], "x times 6", types=([type_proto(x_kind, SHAPE), type_proto(z_kind, SHAPE)], [type_proto(x_kind, SHAPE)]),
                 imports=(helper.make_opsetid("", 17), helper.make_opsetid(schema.domain, 1)))


TEMPLATES = {"BitCast": bit_cast, "LabelEncoder": label_encoder, "Imputer": imputer, "TfIdfVectorizer": tf_idf, "Gradient": gradient,
             "QLinearMatMul": qlinear_matmul, "SequenceAt": sequence_at, "SequenceConstruct": sequence_construct, "SequenceEmpty": sequence_empty, "SequenceErase": sequence_erase,
             "SequenceInsert": sequence_insert, "SequenceLength": sequence_length, "ConcatFromSequence": concat_from_sequence,
             "SplitToSequence": split_to_sequence, "Optional": optional, "OptionalGetElement": optional_get_element, "OptionalHasElement": optional_has_element,
             "Identity": identity, "If": if_case, "Loop": loop_case, "Scan": scan_case, "SequenceMap": sequence_map, "Constant": constant,
             "ConstantOfShape": constant_of_shape, "CastMap": cast_map, "DictVectorizer": dict_vectorizer, "ZipMap": zip_map}


def case(schema, pair):
    """The case of a pair, or None where the operator has no template for it."""
    template = TEMPLATES.get(schema.name)
    return template(schema, pair) if template else None
