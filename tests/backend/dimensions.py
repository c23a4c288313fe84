#!/usr/bin/env python3
"""What a model calls its dimensions hides nothing in generated code.

  dimensions.py --castnet BIN

Graphs that between them reach every printer of steps are compiled with their dimensions called by names that nothing else has, then by each word of
the code: its own locals, parameters, functions, those of the runtime and of C. Both times the code has to be the same but for these names, and none of
them may be a word of anything else.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, parser

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
PLAIN = ("first_size", "second_size")  # in the graphs below
OF_RUNTIME = re.compile("cn_|CN_|castnet_|CASTNET_")
QUANTISED = ["float s = {0.5}", "uint8 z = {7}", "float t = {0.25}", "int8 zero = {0}", "float r = {2}", "uint8 o = {100}"]
GRAPHS = {  # name: (inputs, weights by shape, initializers, outputs, nodes)
    "conv": ("float[first_size,3,9,second_size] x", {"w": (4, 3, 3, 3), "b": (4,), "k": (4, 1, 1)}, [], "y, p", """
  c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
  g = Sigmoid (c)
  m = Mul (c, g)
  y = Mul (m, k)
  p = AveragePool <kernel_shape = [2, 2]> (y)"""),
    "convolutions": ("float[first_size,16,12,10] x", {"w": (16, 16, 3, 3), "d": (16, 1, 3, 3), "l": (8, 16, 1, 1)}, [], "y", """
  c = Conv <pads = [1, 1, 1, 1]> (x, w)
  r = Relu (c)
  e = Conv <group = 16, pads = [1, 1, 1, 1]> (r, d)
  y = Conv (e, l)"""),
    "products": ("float[first_size,4,5] x, float[first_size,5,second_size] v, float[second_size,7] u", {"k": (4, 1), "w": (5, 6)}, [], "y, a, b", """
  c = MatMul (x, v)
  g = Sigmoid (c)
  m = Mul (c, g)
  y = Mul (m, k)
  a = MatMul (y, u)
  b = MatMul (x, w)"""),
    "attention": ("float[2,first_size,200,8] q, float[2,first_size,8,second_size] k, float[2,first_size,second_size,8] v", {}, [], "y", """
  s = MatMul (q, k)
  p = Softmax (s)
  y = MatMul (p, v)"""),
    "quantised_conv": ("uint8[first_size,3,5,second_size] x", {}, [*QUANTISED, "int8[4,3,1,1] w = {-5, 7, 2, 2, -9, 2, -8, -2, -6, 1, 7, -1}"], "y", """
  f = DequantizeLinear (x, s, z)
  d = DequantizeLinear (w, t, zero)
  c = Conv (f, d)
  y = QuantizeLinear (c, r, o)"""),
    "quantised_product": ("uint8[first_size,6] x, int16[second_size,3] a, int16[3,4] b", {}, [*QUANTISED, "int8[6,2] w = {-5, 7, 2, 2, -9, 2, -8, -2, -6, 1, 7, -1}"],
                          "y, i", """
  f = DequantizeLinear (x, s, z)
  d = DequantizeLinear (w, t, zero)
  c = MatMul (f, d)
  y = QuantizeLinear (c, r, o)
  aw = Cast <to = 6> (a)
  bw = Cast <to = 6> (b)
  i = MatMul (aw, bw)"""),
    "recurrent": ("float[first_size,second_size,3] x", {"w": (2, 16, 3), "r": (2, 16, 4), "wg": (1, 12, 3), "rg": (1, 12, 4)}, [], "y, g", """
  y, yh, yc = LSTM <hidden_size = 4, direction = "bidirectional"> (x, w, r)
  g, gh = GRU <hidden_size = 4, linear_before_reset = 1> (x, wg, rg)"""),
    "nests": ("float[first_size,30,second_size] x, int64[first_size] i, int64[first_size,30,second_size] j", {"u": (1, 30, 1)}, ["int64 axis = {1}", "int64[1] last = {2}"],
              "a, b, c, d, e, h, m", """
  t = Transpose <perm = [2, 1, 0]> (x)
  a = Exp (t)
  b = Gather <axis = 1> (x, i)
  c = CumSum <exclusive = 1> (x, axis)
  d = ScatterElements <axis = 1, reduction = "add"> (x, j, x)
  e = ReduceSum (x, last)
  n = Softmax <axis = 1> (x)
  h = Add (n, u)
  m = ArgMax <axis = 2> (x)"""),
    "routines": ("float[first_size,second_size] x, bool[second_size] keep", {}, ["int64[1] one = {1}"], "v, i, c, n, u", """
  v, i = TopK (x, one)
  r = Relu (x)
  c = Compress <axis = 1> (r, keep)
  n = NonZero (c)
  u = Unique (x)"""),
    "control": ("float[first_size,3] x, float[second_size,3] more, int64 times, bool which", {}, [], "a, b, y", """
  a, b = Loop (times, , x, more) <body = step (int64 i, bool go, float[p,3] s, float[q,3] t) => (bool again, float[k,3] longer, float[l,3] both) {
    again = Identity (go)
    longer = Concat <axis = 0> (s, t)
    both = Concat <axis = 0> (t, more)
  }>
  y = If (which) <then_branch = yes () => (float[m,3] z) { z = Concat <axis = 0> (x, more) }, else_branch = no () => (float[n,3] z) { z = Neg (x) }>"""),
    "sequences": ("seq(float[first_size,3]) s, float[second_size,3] x, string[first_size] words", {}, [], "t, y, upper", """
  t = SequenceInsert (s, x)
  y = ConcatFromSequence <axis = 0> (t)
  upper = StringNormalizer <case_change_action = "UPPER"> (words)"""),
}
ROWS = [  # graph, name of the model, target, options, prefix of the names
    *((graph, "m", "x86-64-v3", ("--threads", "all"), "dim_") for graph in GRAPHS),
    *((graph, "m", "cuda", (), "dim_") for graph in GRAPHS if graph not in ("routines", "control", "sequences")),
    *((graph, "m", "c99", (), "dim_") for graph in ("conv", "products", "control")), ("nests", "m", "x86-64", (), "dim_"),
    ("products", "dim", "c99", (), "extent_"), ("products", "dim_x", "c99", (), "extent_")]
TOKEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|//[^\n]*|([A-Za-z_]\w*)|(0[xX]\w+)|(\d\w*|[^\s\w])', re.S)


def model_of(name):
    inputs, weights, constants, outputs, nodes = GRAPHS[name]
    model = parser.parse_model(f"{HEAD}g ({inputs}) => () {'<' + ', '.join(constants) + '>' if constants else ''} {{{nodes}\n}}")
    generator = np.random.default_rng(1)
    for weight, shape in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(generator.normal(size=shape).astype(np.float32), weight))
    for output in outputs.split(","):
        model.graph.output.add().name = output.strip()
    return onnx.shape_inference.infer_shapes(model)


def renamed(model, names):
    """Its dimensions of PLAIN called by `names`."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    del model.graph.value_info[:]
    to = dict(zip(PLAIN, names))
    for value in (*model.graph.input, *model.graph.output):
        kind = value.type.sequence_type.elem_type if value.type.HasField("sequence_type") else value.type
        for dim in kind.tensor_type.shape.dim:
            if dim.dim_param in to:
                dim.dim_param = to[dim.dim_param]
            elif dim.dim_param not in PLAIN and value in model.graph.output:
                dim.ClearField("dim_param")
    return model


def tokens(text):
    """(identifier or number, whether it is a member) of the steps and what follows, without comments, strings and hashes."""
    found, before = [], ""
    for match in TOKEN.finditer(text, text.index("/* ---- steps ---- */")):
        word = match[1] or match[3]
        if word:
            found.append((word, before in (".", ">") and bool(match[1])))
            before = word
    return found


def compiled(castnet, folder, model, name, target, options):
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    r = subprocess.run([castnet, "compile", folder / "m.onnx", "-o", out, "--name", name, "--target", target, *options], capture_output=True, text=True, timeout=60)
    if r.returncode:
        return r.stderr.strip(), []
    return "", [tokens(f.read_text()) for f in sorted(out.iterdir()) if f.suffix in (".c", ".cu") and "/* ---- steps ---- */" in f.read_text()]


def clash(reference, code, plain, names, prefix):
    """Where the code differs in more than the dimensions' names, or one of them is something else's, too."""
    if [len(file) for file in reference] != [len(file) for file in code]:
        return "the code has another form"
    to = {prefix + p: prefix + n for p, n in zip(plain, names)}
    back = {new: old for old, new in to.items()}
    for (was, member), (word, _) in zip([t for file in reference for t in file], [t for file in code for t in file]):
        if member and was in plain:
            continue
        if to.get(was, was) != word:
            return f"{was} has become {word}"
        if not member and word in back and was != back[word]:
            return f"{word} is something else, too"
    return ""


def plain_names(first, second):
    """Two as long as these words, so that lines break alike; nothing else has them."""
    return "P" + "q" * (len(first) - 1), "Q" + "q" * (len(second) - 1)


def check(castnet, folder, graph, name, target, options, prefix):
    """The number of words tried, and what is wrong."""
    model = model_of(graph)
    error, code = compiled(castnet, folder, renamed(model, PLAIN), name, target, options)
    words = {word for file in code for word, _ in file if re.match(r"[A-Za-z_]", word)}
    if error or not any(prefix + p in words for p in PLAIN):
        return 0, [f"no {prefix}... in it; {error}"]
    words = {w.removeprefix("dim_") for w in words if not w.startswith(prefix) and (graph == "control" or not OF_RUNTIME.match(w))}
    words = sorted(words - set(PLAIN), key=lambda w: (len(w), w))
    references, wrong = {}, []
    for names in zip(words[::2], words[1::2] + words[:len(words) % 2]):
        plain = plain_names(*names)
        if plain not in references:
            references[plain] = compiled(castnet, folder, renamed(model, plain), name, target, options)[1]
        error, code = compiled(castnet, folder, renamed(model, names), name, target, options)
        why = error or clash(references[plain], code, plain, names, prefix)
        if why:
            wrong.append(f"dimensions {' and '.join(names)}: {why}")
    return len(words), wrong


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--castnet", type=Path, required=True)
    castnet = options.parse_args().castnet.resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS:
            n, wrong = check(castnet, Path(folder), *row)
            failed += bool(wrong)
            if wrong:
                print(f"FAIL {row[0]} as {row[1]}, {row[2]}: {len(wrong)} of {n} words; {wrong[0]}")
    print(f"{len(ROWS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
