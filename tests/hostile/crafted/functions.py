"""Model-local functions: exponential and endless expansion, wrong definitions, and good ones."""
import numpy as np
from onnx import helper

from . import ACCEPT, ANY, F32, REFUSE, Case, model, node, ramp, value

SHAPE = (2, 3)
IMPORTS = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]


def function(name, nodes, inputs=("a",), outputs=("b",), attributes=(), domain="f"):
    return helper.make_function(domain, name, list(inputs), list(outputs), list(nodes), IMPORTS, list(attributes))


def calling(functions, name, *inputs, outputs=("y",), **attributes):
    return model([node(name, list(inputs) or ["x"], list(outputs), domain="f", **attributes)], [value("x", F32, SHAPE)],
                 [value(o, F32, SHAPE) for o in outputs], functions=functions, imports=[("f", 1)])


def call(name, source, target):
    return node(name, [source], [target], domain="f")


def tower(depth, calls):
    """f0 … f_depth, each calling the one below it some times in a row."""
    built = [function("f0", [node("Neg", ["a"], ["b"])])]
    for level in range(1, depth + 1):
        names = ["a", *[f"t{i}" for i in range(calls - 1)], "b"]
        built.append(function(f"f{level}", [call(f"f{level - 1}", names[i], names[i + 1]) for i in range(calls)]))
    return built


def good():
    """(name, model, what it computes)"""
    negate = function("neg", [node("Neg", ["a"], ["b"])])
    yield "one", calling([negate], "neg"), lambda x: -x
    yield "unused", calling([negate, function("idle", [node("NoSuchThing", ["a"], ["b"])])], "neg"), lambda x: -x
    yield "tower_10", calling(tower(10, 1), "f10"), lambda x: -x
    yield "tower_50", calling(tower(50, 1), "f50"), lambda x: -x
    yield "double_8", calling(tower(8, 2), "f8"), lambda x: x
    yield "reversed_order", calling(tower(5, 1)[::-1], "f5"), lambda x: -x
    yield "inner_names_clash", calling([function("g", [node("Neg", ["a"], ["x"]), node("Relu", ["x"], ["y"]),
                                                       node("Neg", ["y"], ["b"])])], "g"), lambda x: -np.maximum(-x, 0)
    leaky = function("leaky", [helper.make_node("LeakyRelu", ["a"], ["b"])], attributes=["alpha"])
    reference = leaky.node[0].attribute.add(name="alpha", type=1)
    reference.ref_attr_name = "alpha"
    yield "attribute_given", calling([leaky], "leaky", alpha=0.5), lambda x: np.where(x < 0, x * 0.5, x)
    yield "attribute_default", calling([leaky], "leaky"), lambda x: np.where(x < 0, x * np.float32(0.01), x)


def bad():
    """(name, expect, model)"""
    negate = function("neg", [node("Neg", ["a"], ["b"])])
    for depth in (30, 60):
        yield f"exponential_{depth}", REFUSE, calling(tower(depth, 2), f"f{depth}")
    yield "exponential_wide", REFUSE, calling(tower(9, 100), "f9")
    yield "chain_200", ANY, calling(tower(200, 1), "f200")
    yield "chain_3000", ANY, calling(tower(3000, 1), "f3000")
    yield "recursive", REFUSE, calling([function("f", [call("f", "a", "b")])], "f")
    yield "recursive_pair", REFUSE, calling([function("f", [call("g", "a", "b")]), function("g", [call("f", "a", "b")])], "f")
    ring = [function(f"f{i}", [call(f"f{(i + 1) % 500}", "a", "b")]) for i in range(500)]
    yield "recursive_ring_500", REFUSE, calling(ring, "f0")
    yield "recursive_twice", REFUSE, calling([function("f", [call("f", "a", "t"), call("f", "t", "b")])], "f")
    yield "recursive_not_called", ANY, calling([negate, function("f", [call("f", "a", "b")])], "neg")
    yield "defined_twice", REFUSE, calling([negate, function("neg", [node("Relu", ["a"], ["b"])])], "neg")
    yield "not_defined", REFUSE, calling([negate], "other")
    yield "too_many_inputs", REFUSE, calling([negate], "neg", "x", "x")
    yield "too_many_outputs", REFUSE, calling([negate], "neg", outputs=("y", "z"))
    yield "output_undefined", REFUSE, calling([function("f", [node("Neg", ["a"], ["t"])])], "f")
    yield "input_undefined", REFUSE, calling([function("f", [node("Neg", ["q"], ["b"])])], "f")
    yield "reads_outer_value", REFUSE, calling([function("f", [node("Neg", ["x"], ["b"])])], "f")
    yield "circle_inside", REFUSE, calling([function("f", [node("Add", ["a", "b"], ["b"])])], "f")
    yield "input_twice", ANY, calling([function("f", [node("Add", ["a", "a"], ["b"])], inputs=("a", "a"))], "f", "x", "x")
    yield "defined_twice_inside", REFUSE, calling([function("f", [node("Neg", ["a"], ["b"]), node("Relu", ["a"], ["b"])])], "f")
    yield "no_name", REFUSE, calling([function("", [node("Neg", ["a"], ["b"])])], "")
    yield "unknown_operator_inside", REFUSE, calling([function("f", [node("NoSuchThing", ["a"], ["b"])])], "f")
    shadow = function("Relu", [node("Neg", ["a"], ["b"])], domain="")
    yield "shadows_operator", ANY, model([node("Relu", ["x"], ["y"])], [value("x", F32, SHAPE)], [value("y", F32, SHAPE)],
                                         functions=[shadow])
    yield "passes_input_through", ANY, calling([function("same", [], ["a"], ["a"])], "same")
    yield "no_imports", ANY, without_imports()
    yield "ten_thousand", ANY, calling([negate, *[function(f"g{i}", [node("Neg", ["a"], ["b"])]) for i in range(10000)]], "neg")


def without_imports():
    built = calling([function("neg", [node("Neg", ["a"], ["b"])])], "neg")
    del built.functions[0].opset_import[:]
    return built


def cases():
    x = ramp(SHAPE)
    for name, built, compute in good():
        yield Case(name, ACCEPT, built, data=[([x], [compute(x).astype(np.float32)])])
    for name, expect, built in bad():
        yield Case(name, expect, built)
