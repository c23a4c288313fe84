#!/usr/bin/env python3
"""Strings and what maps them: models made here, their results from Python, judged by `castnet check`.

  run.py --castnet build/compiler/castnet [--filter 'concat*'] [--sanitize]

A case is a function of CASES: it gives nodes, inputs and expected outputs by name. Expected values come from Python's own strings or
are written out, never from castnet.
"""
import argparse
import fnmatch
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def strings(*values, shape=None):
    """An array of bytes: any byte, any length."""
    a = np.empty(len(values), dtype=object)
    a[:] = [v if isinstance(v, bytes) else v.encode() for v in values]
    return a.reshape(shape) if shape is not None else a


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), domain=domain, **attributes)


def ml(op, inputs, outputs, **attributes):
    return node(op, inputs, outputs, domain="ai.onnx.ml", **attributes)


ODD = strings("", "a", b"\0", b"a\0b", "grün", b"\xff\xfe", "x" * 300, "a", shape=(2, 4))


# ---- any string through operators that only move elements ----
@case
def move():
    return ([node("Transpose", "x", "t", perm=[1, 0]), node("Reshape", "t,two_four", "r"), node("Concat", "r,x", "c", axis=0),
             node("Gather", "c,places", "y", axis=0), node("Identity", "x", "same"), node("Expand", "row,shape", "wide"),
             node("Tile", "row,times", "tiled"), node("Slice", "x,one,four,axes", "cut")],
            {"x": ODD, "row": strings("p", "")},
            {"y": np.concatenate([ODD.T.reshape(2, 4), ODD])[[3, 0, -1]], "same": ODD, "wide": strings("p", "", "p", "", "p", "", shape=(3, 2)),
             "tiled": strings("p", "", "p", ""), "cut": ODD[:, 1:4]},
            {"two_four": np.array([2, 4]), "places": np.array([3, 0, -1]), "shape": np.array([3, 2]), "times": np.array([2]),
             "one": np.array([1]), "four": np.array([4]), "axes": np.array([1])})


@case
def choose():
    flags = np.array([[True, False, True, False], [False, True, True, False]])
    return ([node("Where", "flags,x,other", "y"), node("Equal", "x,other", "equal"), node("Pad", "x,pads,fill", "padded"),
             node("Compress", "x,kept", "some"), node("ScatterElements", "x,at,new", "scattered", axis=1)],
            {"x": ODD, "flags": flags},
            {"y": np.where(flags, ODD, b"a"), "equal": ODD == b"a", "padded": np.pad(ODD, ((0, 0), (1, 0)), constant_values=b"-"),
             "some": ODD.reshape(-1)[[1, 3]], "scattered": np.array([[b"n", *ODD[0, 1:]], [*ODD[1, :3], b"m"]], dtype=object)},
            {"other": strings("a"), "pads": np.array([0, 1, 0, 0]), "fill": strings("-", shape=()), "kept": np.array([False, True, False, True]),
             "at": np.array([[0], [3]]), "new": strings("n", "m", shape=(2, 1))})


@case
def unique():
    y, first, inverse, counts = np.unique(ODD.astype(object).reshape(-1), return_index=True, return_inverse=True, return_counts=True)
    return ([node("Unique", "x", "y,first,inverse,counts")], {"x": ODD}, {"y": y, "first": first, "inverse": inverse, "counts": counts})


# ---- new strings ----
@case
def concat():
    column = strings("<", b"\0", shape=(2, 1))
    return ([node("StringConcat", "column,x", "y"), node("StringConcat", "y,y", "twice"), node("StringConcat", "y,none", "same"),
             node("StringConcat", "twice,big", "long")],
            {"x": ODD, "column": column},
            {"y": column + ODD, "twice": column + ODD + column + ODD, "same": column + ODD, "long": column + ODD + column + ODD + b"z" * 100000},
            {"none": strings("", shape=()), "big": strings("z" * 100000)})


def split(x, delimiter=None, most=-1):
    pieces = [v.split(delimiter, most) for v in x.reshape(-1)]
    n = max([len(p) for p in pieces], default=0)
    y = strings(*[w for p in pieces for w in p + [b""] * (n - len(p))], shape=(*x.shape, n))
    return y, np.array([len(p) for p in pieces], dtype=np.int64).reshape(x.shape)


TEXT = strings("a b  c", "", "  x ", "one,two,,three,", "\t\n a\vb\fc\rd ", ",", b"no\0blank, here", "aaaa", shape=(2, 2, 2))


@case
def split_all():
    forms = {"": None, ",": b",", "aa": b"aa", ", ": b", "}
    nodes, outputs = [], {}
    for i, (delimiter, python) in enumerate(forms.items()):
        for most in (-1, 0, 1, 2):
            name = f"{i}_{most + 1}"
            limit = {"maxsplit": most} if most >= 0 else {}
            nodes.append(node("StringSplit", "x", f"y{name},n{name}", delimiter=delimiter, **limit))
            outputs[f"y{name}"], outputs[f"n{name}"] = split(TEXT, python, most)
    return nodes, {"x": TEXT}, outputs


@case
def split_then_more():
    """Sizes from data and new strings in turn share one workspace."""
    y, _ = split(TEXT.reshape(-1))
    words = np.unique(y.astype(object))
    joined = words + b"-" + words
    again, n = split(joined, b"-")
    return ([node("Reshape", "x,flat", "v"), node("StringSplit", "v", "y,n"), node("Unique", "y", "words"), node("StringConcat", "words,dash", "w"),
             node("StringConcat", "w,words", "joined"), node("StringSplit", "joined", "again,m", delimiter="-"), node("StringConcat", "again,dash", "last")],
            {"x": TEXT}, {"joined": joined, "again": again, "m": n, "last": again + b"-"}, {"flat": np.array([-1]), "dash": strings("-")})


def normalize(x, change=None, stop=(), sensitive=True):
    fold = (lambda w: w) if sensitive else (lambda w: w.decode().casefold())
    kept = [w for w in x if fold(w) not in {fold(s) for s in stop}]
    return strings(*[getattr(w.decode(), change)() if change else w for w in kept] or [""])


@case
def normalizer():
    x = strings("Übung", "MONDAY", "monday", "ΣΟΦΌΣ", "Ⱥⱥ ɐ", "", "şiır ĳ ǆ", "a\0B", "𐐀𐐨", "Ꭰꭰ")
    stop = ["monday", "übung"]
    words = [w.encode() for w in stop]
    nodes = [node("StringNormalizer", "x", "u", case_change_action="UPPER"), node("StringNormalizer", "x", "l", case_change_action="LOWER", stopwords=stop),
             node("StringNormalizer", "x", "s", is_case_sensitive=1, stopwords=stop), node("StringNormalizer", "x", "n", stopwords=stop)]
    lower = strings(*[w.decode().replace("Σ", "σ").lower() for w in normalize(x, stop=words, sensitive=False)])  # simple mappings know no final sigma
    return (nodes, {"x": x}, {"u": normalize(x, "upper"), "l": lower, "s": normalize(x, stop=words), "n": normalize(x, stop=words, sensitive=False)})


@case
def normalizer_nothing_left():
    x = strings("A", "a", b"\xff", shape=(1, 3))
    return ([node("StringNormalizer", "x", "y", stopwords=["a"], case_change_action="UPPER"), node("Slice", "x,none,two,one", "z"),
             node("StringNormalizer", "z", "w", stopwords=["a"])],
            {"x": x}, {"y": strings(b"\xff", shape=(1, 1)), "w": strings("", shape=(1, 1))},
            {"none": np.array([0]), "two": np.array([2]), "one": np.array([1])})


# ---- regular expressions ----
PATTERNS = ["", "a", "a|b", "(a|b)*c", "a{2,3}", "(?:ab){2}", "[a-c]+", "[^a-c]*", ".", ".*", "(?s).", "(?s).*", r"\d+\.\d*", r"\w+\s\w+", r"(?i)grün",
            r"(?i)[k-s]+", "x*?y", r"\bfoo\b.*", r"a\Bb", "^abc$", "(?m)a$\n^b", r"\Q.*\E", r"\x41\x{1F600}", "[[:alpha:]]+[[:^digit:]]", "[]a-]+",
            r"[\d\-x]+", "(a*)*b", "(a|aa)+", "a{,2}", "(?P<name>x)y", "(|a)b", r"\101", "[ä-ü]+", "(?i)ſ", r"[^\W\d]+", "a++"[:2], "日本.", r"\C\C"]
TEXTS = ["", "a", "b", "abac", "aaa", "aaaa", "abab", "cab", "xyz", "\n", "a\nb", "3.14", "12.", "one two", "GRÜN", "grün", "KLS", "K", "y", "xxxy", "foo", "foo bar",
         "foobar", "ab", "abc", ".*", "A😀", "ab1x", "abx", "]-a", "9-x", "a" * 40, "a" * 40 + "b", "a{,2}", "xy", "äü", "s", "S", "ſ", "日本語", "é", "_b"]


def full_match(pattern, text):
    pattern = {"(a*)*b": "a*b", "(a|aa)+": "a+"}.get(pattern, pattern)  # Python takes ages
    python = pattern.replace(r"\Q.*\E", r"\.\*").replace(r"\x{1F600}", "😀").replace("[[:alpha:]]", "[A-Za-z]").replace("[[:^digit:]]", "[^0-9]")
    if python == r"\C\C":
        return len(text.encode()) == 2
    if python == "a{,2}":
        return text == python  # RE2 takes it literally
    for letter, ascii_class in (("w", "0-9A-Za-z_"), ("W", None), ("s", "\t\n\f\r ")):
        python = python.replace("\\" + letter, f"[{ascii_class}]") if ascii_class and f"[^\\W" not in python else python
    return re.fullmatch(python, text, re.ASCII if "\\b" in python or "\\B" in python or "\\W" in python else 0) is not None


@case
def regex():
    x = strings(*TEXTS, shape=(2, len(TEXTS) // 2))
    outputs = {f"y{i}": np.array([full_match(p, t) for t in TEXTS]).reshape(x.shape) for i, p in enumerate(PATTERNS)}
    return [node("RegexFullMatch", "x", f"y{i}", pattern=p) for i, p in enumerate(PATTERNS)], {"x": x}, outputs


# ---- n-grams ----
def count_grams(x, grams, skips, first, last):
    """grams: {n-gram: column}"""
    y = np.zeros((len(x), max(grams.values()) + 1), dtype=np.float32)
    for r, row in enumerate(x):
        for step in range(1, skips + 2):
            for size in range(first, last + 1):
                if size == 1 and step > 1:
                    continue
                for i in range(len(row) - (size - 1) * step):
                    column = grams.get(tuple(row[i:i + size * step:step]))
                    if column is not None:
                        y[r, column] += 1
    return y


@case
def tfidf():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4, (3, 12))
    names = np.array([b"a", b"b", b"", b"no"], dtype=object)
    pool = [[0], [2], [1, 2], [0, 0], [3, 0], [2, 0, 1]]
    columns = [1, 0, 3, 5, 2, 4]
    weights = [0.5, 2.0, 3.0, 0.25, 7.0, 1.5]
    grams = {tuple(g): k for g, k in zip(pool, columns)}
    flat = [w for g in pool for w in g]
    by_column = np.array([weights[columns.index(k)] for k in range(6)], dtype=np.float32)
    nodes, outputs = [], {}
    for i, (skips, first, last, mode) in enumerate([(0, 1, 3, "TF"), (2, 1, 2, "TF"), (1, 2, 3, "IDF"), (1 << 40, 1, 3, "TFIDF"), (0, 3, 3, "TFIDF")]):
        shared = dict(ngram_counts=[0, 2, 8], ngram_indexes=columns, max_skip_count=skips, min_gram_length=first, max_gram_length=last, mode=mode, weights=weights)
        counts = count_grams(x.tolist(), {g: k for g, k in grams.items() if first <= len(g) <= last} | {(9,): 5}, min(skips, 20), first, last)
        outputs[f"i{i}"] = outputs[f"s{i}"] = {"TF": counts, "IDF": (counts > 0) * by_column, "TFIDF": counts * by_column}[mode].astype(np.float32)
        nodes += [node("TfIdfVectorizer", "x", f"i{i}", pool_int64s=flat, **shared),
                  node("TfIdfVectorizer", "s", f"s{i}", pool_strings=names[flat].tolist(), **shared)]
    return nodes, {"x": x, "s": names[x]}, outputs


# ---- numbers as text ----
def number_text(v):
    if isinstance(v, np.floating) and np.isfinite(v) and (v == 0 or 1e-4 <= abs(float(v)) < 1e16):
        return np.format_float_positional(v, unique=True, trim="0")
    text = np.format_float_scientific(v, unique=True, trim="-", exp_digits=2) if isinstance(v, np.floating) else str(v)
    return {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(text, text)


def to_text(a):
    return strings(*[number_text(v) for v in a.reshape(-1)], shape=a.shape)


@case
def numbers_to_text():
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 1 << 63, 4000, dtype=np.uint64) * 2 + rng.integers(0, 2, 4000, dtype=np.uint64)
    powers = np.array([1 << k for k in range(64)], dtype=np.uint64)
    doubles = np.concatenate([bits.view(np.float64), 2.0 ** np.arange(-1074, 1024, 7), 10.0 ** np.arange(-320, 308), [0.0, -0.0, np.inf, -np.inf, 0.1, 1 / 3, 1e16, 1e-4, 9e-5, 5e-324]])
    doubles = np.where(np.isnan(doubles), 1.5, doubles)
    singles = np.concatenate([bits.view(np.float32), np.float32(2.0) ** np.arange(-149, 128, dtype=np.float32), np.array([np.inf, 16777216, 1e-45, 0.3], dtype=np.float32)])
    singles = np.where(np.isnan(singles), np.float32(2.5), singles)
    halves = np.arange(0, 0x7c01, 7, dtype=np.uint16).view(np.float16)
    ints = np.concatenate([powers.view(np.int64), -powers.view(np.int64), [0, 1 << 62]])
    inputs = {"d": doubles, "f": singles, "h": halves, "i": ints, "u": powers, "b": np.array([-128, 127, 0], dtype=np.int8), "n": np.array([np.nan], dtype=np.float32)}
    nodes = [node("Cast", k, f"t{k}", to=TensorProto.STRING) for k in inputs]
    back = [node("Cast", f"t{k}", f"r{k}", to=helper.np_dtype_to_tensor_dtype(v.dtype)) for k, v in inputs.items()]
    outputs = {f"t{k}": to_text(v) for k, v in inputs.items()} | {f"r{k}": v for k, v in inputs.items()}
    return nodes + back, inputs, outputs


@case
def numbers_from_text():
    texts = ["1", " -2.5 ", "+.5", "3.", "1e5", "1E-5", "inF", "+INF", "-inf", "nan", "00012", "1e400", "-1e400", "1e-400", "1" * 1000 + "e-999", "0." + "0" * 500 + "1e500",
             "9007199254740993", "9007199254740992.99999999999", "9007199254740993." + "0" * 900 + "1", "2.2250738585072011e-308", "4.9e-324", "2.4703282292062327208e-324",
             "2.470328229206232721e-324", "1.7976931348623157e308", "1.7976931348623159e308", "16777217", "16777217.0000001", "3.4028235e38", "3.4028236e38", "1e-45", "7e-46", "0", "-0",
             "123456789012345678901234567890", "\t42\n"]
    x = strings(*texts)
    doubles = np.array([float(t) for t in texts])
    with np.errstate(over="ignore"):
        singles = doubles.astype(np.float32)
    singles[texts.index("16777217.0000001")] = 16777218  # f64 and then f32 would round twice
    ints = strings("9223372036854775807", "-9223372036854775808", "100.5", "-1.9", "1e3", "99999999999999999999", "-1e300", "nan", " 7 ")
    return ([node("Cast", "x", "d", to=TensorProto.DOUBLE), node("Cast", "x", "f", to=TensorProto.FLOAT), node("Cast", "i", "j", to=TensorProto.INT64),
             node("Cast", "u", "v", to=TensorProto.UINT64), node("CastLike", "u,like", "w"), node("Cast", "flags", "b", to=TensorProto.BOOL)],
            {"x": x, "i": ints, "u": strings("18446744073709551615", "-3", "2.5"), "flags": strings("0", "1", "-0.0", "5e-324")},
            {"d": doubles, "f": singles, "j": np.array([(1 << 63) - 1, -(1 << 63), 100, -1, 1000, (1 << 63) - 1, -(1 << 63), 0, 7]),
             "v": np.array([(1 << 64) - 1, 0, 2], dtype=np.uint64), "w": np.array([255, 0, 2], dtype=np.uint8), "b": np.array([False, True, False, True])},
            {"like": np.zeros(1, dtype=np.uint8)})


# ---- labels ----
def encode(x, table, default):
    return np.array([table.get(v, default) for v in x.reshape(-1)]).reshape(x.shape)


@case
def label_strings():
    table = {b"": 7, b"a\0b": -3, b"\xff\xfe": 9, "grün".encode(): 1 << 40}
    return ([ml("LabelEncoder", "x", "y", keys_strings=list(table), values_int64s=list(table.values()), default_int64=-5),
             ml("LabelEncoder", "y", "back", keys_int64s=list(table.values()), values_strings=list(table), default_string="none")],
            {"x": ODD}, {"y": encode(ODD, table, -5), "back": np.array([[v if v in table else b"none" for v in row] for row in ODD], dtype=object)})


@case
def label_floats():
    x = np.array([1.5, np.nan, -0.0, np.inf, 3], dtype=np.float32)
    return ([ml("LabelEncoder", "x", "y", keys_floats=[np.inf, 1.5, np.nan, 0.0], values_floats=[1.0, 2.0, 3.0, 4.0])],
            {"x": x}, {"y": np.array([2, 3, 4, 1, -0.0], dtype=np.float32)})


@case
def label_tensors():
    x = np.array([1, -7, 300], dtype=np.int16)
    return ([ml("LabelEncoder", "x", "y", keys_tensor=numpy_helper.from_array(np.array([300, -7], dtype=np.int16)),
                values_tensor=numpy_helper.from_array(np.array([0.5, 0.25])), default_tensor=numpy_helper.from_array(np.array([9.0])))],
            {"x": x}, {"y": np.array([9, 0.25, 0.5])})


@case
def category_mapper():
    pairs = {"cats_strings": ["a", "grün"], "cats_int64s": [3, 4]}
    return ([ml("CategoryMapper", "x", "y", default_int64=-2, **pairs), ml("CategoryMapper", "y", "back", default_string="?", **pairs)],
            {"x": ODD}, {"y": encode(ODD, {b"a": 3, "grün".encode(): 4}, -2),
                         "back": np.array([[v if v in (b"a", "grün".encode()) else b"?" for v in row] for row in ODD], dtype=object)})


@case
def one_hot():
    x = np.array([[2, 5], [9, 2]], dtype=np.int64)
    cats = [5, 2, 7]
    return ([ml("OneHotEncoder", "x", "y", cats_int64s=cats, zeros=1), ml("OneHotEncoder", "s", "z", cats_strings=["b", "a"], zeros=0)],
            {"x": x, "s": strings("a", "b", "a")},
            {"y": (x[..., None] == np.array(cats)).astype(np.float32), "z": np.array([[0, 1], [1, 0], [0, 1]], dtype=np.float32)})


# ---- maps ----
@case
def zip_map():
    x = np.array([[0.25, 0.5, -1], [3, 4, np.inf]], dtype=np.float32)
    names = ["a", "grün", ""]
    return ([ml("ZipMap", "x", "strings", classlabels_strings=names), ml("ZipMap", "x", "ints", classlabels_int64s=[7, -1, 1 << 40]), ml("ZipMap", "row", "one", classlabels_strings=names),
             node("Identity", "x", "scores")],
            {"x": x, "row": x[1]},
            {"strings": [dict(zip(names, r)) for r in x], "ints": [dict(zip([7, -1, 1 << 40], r)) for r in x], "one": [dict(zip(names, x[1]))], "scores": x})


@case
def vectorize_map():
    m = {"b": 2.5, "": -1.0, "other": 9.0}
    return [ml("DictVectorizer", "m", "y", string_vocabulary=["a", "", "b"])], {"m": m}, {"y": np.array([0, -1, 2.5], dtype=np.float32)}


@case
def cast_map():
    m = {5: 2.5, -7: 0.5, 1 << 40: -3.0}
    small = {3: 1.75, 0: 4.0}
    return ([ml("CastMap", "m", "floats"), ml("CastMap", "m", "texts", cast_to="TO_STRING"), ml("CastMap", "s", "sparse", map_form="SPARSE", max_map=5),
             ml("CastMap", "s", "ints", map_form="SPARSE", max_map=4, cast_to="TO_INT64")],
            {"m": m, "s": small},
            {"floats": np.array([[0.5, 2.5, -3]], dtype=np.float32), "texts": strings("0.5", "2.5", "-3.0", shape=(1, 3)),
             "sparse": np.array([[4, 0, 0, 1.75, 0]], dtype=np.float32), "ints": np.array([[4, 0, 0, 1]])})


@case
def cast_empty_map():
    return [ml("CastMap", "m", "y"), ml("CastMap", "m", "s", map_form="SPARSE", max_map=2)], {"m": {}}, {"y": np.zeros((1, 0), dtype=np.float32), "s": np.zeros((1, 2), dtype=np.float32)}


@case
def zip_map_of_none():
    return [ml("ZipMap", "x", "y", classlabels_int64s=[1, 2])], {"x": np.zeros((0, 2), dtype=np.float32)}, {"y": []}


# ---- the runner ----
def fill_map(made, m):
    made.key_type = map_key([m])
    (made.string_keys if made.key_type == TensorProto.STRING else made.keys).extend([k.encode() if isinstance(k, str) else k for k in m])
    made.values.CopyFrom(onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR))
    made.values.tensor_values.extend([numpy_helper.from_array(np.array(v, dtype=np.float32)) for v in m.values()])
    return made


def sequence_of_maps(name, maps):
    s = onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.MAP)
    for m in maps:
        fill_map(s.map_values.add(), m)
    return s


def map_key(maps):
    return TensorProto.STRING if maps and maps[0] and isinstance(next(iter(maps[0])), str) else TensorProto.INT64


def map_type(maps):
    return helper.make_map_type_proto(map_key(maps), helper.make_tensor_type_proto(TensorProto.FLOAT, []))


def tensor(name, value):
    if isinstance(value, list):
        return sequence_of_maps(name, value)
    if isinstance(value, dict):
        return fill_map(onnx.MapProto(name=name), value)
    if value.dtype != object:
        return numpy_helper.from_array(value, name)
    made = TensorProto(name=name, data_type=TensorProto.STRING, dims=value.shape)
    made.string_data.extend(value.reshape(-1).tolist())  # helper.make_tensor loses trailing zeros
    return made


def element_type(value):
    return TensorProto.STRING if value.dtype == object else helper.np_dtype_to_tensor_dtype(value.dtype)


def info(name, value, symbols):
    if isinstance(value, dict):
        return helper.make_value_info(name, map_type([value]))
    dims = [f"{name}_{i}" if symbols else n for i, n in enumerate(value.shape)]
    return helper.make_tensor_value_info(name, element_type(value), dims)


def output_info(name, value):
    if not isinstance(value, list):
        return helper.make_tensor_value_info(name, element_type(value), None)
    return helper.make_value_info(name, helper.make_sequence_type_proto(map_type(value)))


def write(folder, nodes, inputs, outputs, constants=None, symbols=False):
    """The model and its data set, laid out as ONNX lays out tests."""
    graph = helper.make_graph(nodes, "strings", [info(n, v, symbols) for n, v in inputs.items()],
                              [output_info(n, v) for n, v in outputs.items()],
                              [tensor(n, v) for n, v in (constants or {}).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 4)])
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for what, values in (("input", inputs), ("output", outputs)):
        for i, (name, value) in enumerate(values.items()):
            (data / f"{what}_{i}.pb").write_bytes(tensor(name, value).SerializeToString())
    return folder / "model.onnx"


def judge(options, work, name, symbols):
    model = write(work / f"{name}{'_symbols' if symbols else ''}", *CASES[name](), symbols=symbols)
    command = [options.castnet, "check", model, *(["--sanitize"] if options.sanitize else [])]
    outcome = harness.run(command, 120)
    if outcome.status == 0:
        return True
    print(f"FAIL {name}{' with symbolic dimensions' if symbols else ''}\n{outcome.out}{outcome.err}")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--filter", action="append", help="only cases whose names match")
    parser.add_argument("--sanitize", action="store_true")
    options = parser.parse_args()
    options.castnet = harness.castnet_path(options.castnet)
    chosen = [n for n in CASES if not options.filter or any(fnmatch.fnmatch(n, f) for f in options.filter)]
    with tempfile.TemporaryDirectory() as work:
        results = [judge(options, Path(work), name, symbols) for name in chosen for symbols in (False, True)]
    return harness.totals(results.count(True), results.count(False))


if __name__ == "__main__":
    sys.exit(main())
