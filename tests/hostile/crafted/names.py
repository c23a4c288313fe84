"""Names that could break out of a comment, a string or an identifier, in valid models: they have to be accepted, the
generated C has to build, and its results have to be right."""
import numpy as np
from onnx import helper

from . import ACCEPT, ANY, F32, Case, constant, model, node, ramp, to_bytes, value

SHAPE = (2, 3)
HOSTILE = {
    "comment_end": "*/ int evil(void); /*",
    "comment_line": "// x",
    "comment_continued": "x \\",
    "comment_open": "/*",
    "quote": 'a"b',
    "quote_single": "a'b",
    "backslash": "a\\b",
    "backslash_end": "a\\",
    "backslash_newline": "a\\\nb",
    "newline": "a\nb",
    "carriage_return": "a\rb",
    "crlf_directive": "a\r\n#error evil\r\n",
    "directive": "\n#include \"/etc/passwd\"\n",
    "tab": "a\tb",
    "vertical": "a\vb\fc\bd\ae",
    "escape": "\x1b[31mred\x1b[0m",
    "delete": "a\x7fb",
    "controls": "".join(chr(c) for c in range(1, 32)),
    "nul": "a\0b",
    "nul_first": "\0",
    "trigraph": "a??/\nb??=c",
    "trigraph_comment": "*??/\n/ int evil;",
    "digraph": "%:define x <: :> <% %>",
    "percent": "%s%n%d%100000d",
    "braces": "}; int evil = 1; {",
    "template": "@name@ @@ ${x} {{x}}",
    "shell": "$(touch evil) `id` ; rm x",
    "path": "../../evil",
    "slashes": "/a/b/c.1",
    "colons": "a::b:c",
    "dots": "a.b.c",
    "dashes": "a-b-c",
    "spaces": "  a  b  ",
    "only_space": " ",
    "only_symbols": "!@#^&()+=~",
    "only_underscores": "___",
    "underscore_capital": "_Reserved",
    "double_underscore": "__reserved__",
    "digit_first": "0",
    "digits": "1234567890",
    "number_like": "1e10f",
    "unicode": "größe_输入_вход",
    "emoji": "\U0001f600",
    "right_to_left": "\u202eevil\u202c",
    "zero_width": "a\u200bb\ufeffc",
    "line_separator": "a\u2028b\u2029c\u0085d",
    "combining": "e\u0301\u0301\u0301",
    "private": "\ue000\U0010ffff",
    "keyword_int": "int",
    "keyword_return": "return",
    "keyword_restrict": "restrict",
    "keyword_inline": "inline",
    "keyword_bool": "_Bool",
    "keyword_cpp": "class",
    "keyword_new": "new",
    "macro_null": "NULL",
    "macro_size": "SIZE_MAX",
    "macro_unix": "linux",
    "macro_stdint": "INT64_C",
    "type_size": "size_t",
    "type_int": "int64_t",
    "libc_memcpy": "memcpy",
    "libc_malloc": "malloc",
    "libc_exit": "exit",
    "libm_sin": "sin",
    "main": "main",
    "own_env": "castnet_env",
    "own_ok": "CASTNET_OK",
    "own_inputs": "model_inputs",
    "own_in": "in",
    "own_out": "out",
    "own_ws": "ws",
    "own_index": "i",
    "own_needed": "ws_needed",
    "own_dim": "dim",
    "long": "n" * 5000,
    "json": '{"a": [1, 2]}',
    "xml": "<a href='b'>&amp;</a>",
}
INVALID_UTF8 = {"lone_continuation": b"a\x80b", "overlong": b"\xc0\xaf", "surrogate": b"\xed\xa0\x80", "truncated": b"\xe2\x82",
                "latin1": b"gr\xf6\xdfe", "ff": b"\xff\xfe\xff"}


def everywhere(text):
    """y = relu(x + w) with the text in every name that a model has."""
    built = model([node("Add", [text + "x", text + "w"], [text + "t"], name=text), node("Relu", [text + "t"], [text], name=text + "2")],
                  [value(text + "x", F32, SHAPE)], [value(text, F32, SHAPE)], [constant(text + "w", weights())], name=text)
    built.doc_string = built.graph.doc_string = built.graph.node[0].doc_string = text
    built.producer_name = built.producer_version = built.domain = text
    built.graph.value_info.append(value(text + "t", F32, SHAPE))
    helper.set_model_props(built, {text: text})
    return built


def weights():
    return np.full(SHAPE, 0.5, np.float32)


def expected():
    x = ramp(SHAPE)
    return [([x], [np.maximum(x + weights(), 0)])]


def dimension(text):
    built = model([node("Relu", ["x"], ["y"])], [value("x", F32, (text, 3))], [value("y", F32, (text, 3))])
    x = ramp(SHAPE)
    return built, [([x], [np.maximum(x, 0)]), ([ramp((5, 3))], [np.maximum(ramp((5, 3)), 0)])]


def in_function(text):
    """The text as domain, name and inner names of a function."""
    inner = helper.make_function(text, text, [text], [text + "2"], [node("Relu", [text], [text + "2"], name=text)],
                                 [helper.make_opsetid("", 17)])
    built = model([node(text, ["x"], ["y"], domain=text)], [value("x", F32, SHAPE)], [value("y", F32, SHAPE)],
                  functions=[inner], imports=[(text, 1)])
    x = ramp(SHAPE)
    return built, [([x], [np.maximum(x, 0)])]


def colliding():
    """Sets of names that are different, but equal after the simplest ways of making identifiers."""
    yield "symbols", ["a.b", "a_b", "a/b", "a-b", "a b", "a:b"]
    yield "digits", ["0", "x0", "_0", "00", "x00"]
    yield "case", ["abc", "ABC", "Abc", "aBC"]
    yield "keywords", ["int", "int_", "int__", "_int"]
    yield "suffixes", ["a", "a_1", "a_2", "a_1_1", "a__1"]
    yield "long", ["n" * 300 + str(i) for i in range(6)]
    yield "long_start", [str(i) + "n" * 300 for i in range(6)]
    yield "cut", ["n" * length for length in (47, 48, 49, 50, 63, 64, 65)]
    yield "unicode", ["\u00e4", "\u00f6", "\u00fc", "\u00e9", "e\u0301"]
    yield "hex", ["a_62", "ab", "a\\x62", "a%62"]
    yield "own", ["in", "out", "ws", "ws_size", "env", "dim", "ws_needed", "arg", "n", "i"]
    yield "parts", ["data", "capacity", "dims", "ptr", "length", "items", "count", "has", "value"]


def many(names):
    """Inputs of these names, each with its own output; the sum tells them apart."""
    outputs = [name + "'" for name in names]
    built = model([node("Add", [name, "w"], [out], name=name) for name, out in zip(names, outputs)],
                  [value(name, F32, SHAPE) for name in names], [value(out, F32, SHAPE) for out in outputs],
                  [constant("w", weights())])
    inputs = [ramp(SHAPE) * (i + 1) for i in range(len(names))]
    return built, [(inputs, [x + weights() for x in inputs])]


def empty_names():
    built = model([node("Add", ["x", "w"], ["t"], name=""), node("Relu", ["t"], ["y"], name="")],
                  [value("x", F32, SHAPE)], [value("y", F32, SHAPE)], [constant("w", weights())], name="")
    built.ClearField("producer_name")
    return built


def cases():
    for label, text in HOSTILE.items():
        yield Case(f"all_{label}", ACCEPT, everywhere(text), "in every name", data=expected())
        built, data = dimension(text)
        yield Case(f"dim_{label}", ACCEPT, built, "as a symbolic dimension", data=data)
        built, data = in_function(text)
        yield Case(f"function_{label}", ACCEPT, built, "in a function", data=data)
    for label, raw in INVALID_UTF8.items():
        stand_in = "Q" * len(raw)
        data = to_bytes(everywhere(stand_in)).replace(stand_in.encode(), raw)
        yield Case(f"invalid_utf8_{label}", ANY, data, "bytes that are not UTF-8", data=expected())
    yield Case("megabyte", ACCEPT, everywhere("n" * 2**20), "a megabyte in every name", data=expected())
    yield Case("megabyte_hostile", ACCEPT, everywhere('*/"\\\n' * 2**18), "a megabyte of trouble", data=expected())
    yield Case("empty", ACCEPT, empty_names(), "empty names of nodes, graph and producer", data=expected())
    for label, names in colliding():
        built, data = many(names)
        yield Case(f"colliding_{label}", ACCEPT, built, f"{names[:2]} …"[:80], data=data)
