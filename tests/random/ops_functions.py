"""Rows of model-local functions: attributes by reference and by default, functions that call functions, branches and loops in them."""
from onnx import AttributeProto, helper

import numpy as np

from graph import LOCAL, Unfit, broadcast

STEPS = ("Sigmoid", "Add", "Mul", "Tanh", "Neg")


def reference(node, name, attribute, kind=AttributeProto.FLOAT):
    node.attribute.add(name=name, ref_attr_name=attribute, type=kind)
    return node


def steps(g, count, stem="t"):
    """Nodes on `a` and at times `b`; the last name."""
    nodes, last = [], "a"
    for k in range(count):
        op, out = g.r.choice(STEPS), f"{stem}{k}"
        nodes.append(helper.make_node(op, [last, "b"] if op in ("Add", "Mul") else [last], [out]))
        last = out
    return nodes, last


def branch(result, op):
    return helper.make_graph([helper.make_node(op, ["a"], [result])], result, [], [helper.make_tensor_value_info(result, 1, None)])


def define(g, callee=None):
    """A function (a, b) -> y: [some steps] [LeakyRelu by reference] [a call of another function] [a branch on whether b has elements]."""
    nodes, last = steps(g, g.r.randint(1, 3))
    nodes.append(reference(helper.make_node("LeakyRelu", [last], ["slanted"]), "alpha", "slope"))
    last = "slanted"
    if callee:
        call = helper.make_node(callee, [last, "b"], ["called"], domain=LOCAL)
        if g.r.random() < 0.5:
            reference(call, "slope", "slope")
        elif g.r.random() < 0.5:
            call.attribute.append(helper.make_attribute("slope", 0.25))
        nodes.append(call)
        last = "called"
    if g.opset >= 9 and g.r.random() < 0.3:
        nodes += [helper.make_node("Size", ["a"], ["count"]), helper.make_node("Constant", [], ["three"], value=helper.make_tensor("", 7, [], [3])),
                  helper.make_node("Less", ["count", "three"], ["few"]),
                  helper.make_node("If", ["few"], ["chosen"], then_branch=branch("p", "Tanh"), else_branch=branch("q", "Sigmoid")),
                  helper.make_node("Add", [last, "chosen"], ["y"])]
    else:
        nodes.append(helper.make_node("Identity", [last], ["y"]))
    imports = [helper.make_opsetid("", g.opset)] + ([helper.make_opsetid(LOCAL, 1)] if callee else [])
    name = g.fresh("F")
    defaults = [helper.make_attribute("slope", 0.125)]
    g.functions.append(helper.make_function(LOCAL, name, ["a", "b"], ["y"], nodes, imports, [], defaults))
    return name


def local_function(g):
    """Called once or twice, with and without its attribute."""
    x = g.pick((np.float32,))
    name = define(g)
    for _ in range(g.r.choice((0, 0, 1, 2))):
        name = define(g, name)
    for _ in range(g.r.randint(1, 2)):
        y = g.partner(x)
        if broadcast(x.shape, y.shape) != x.shape:
            raise Unfit
        g.add(name, [x, y], [(x.dtype, x.shape, False)], domain=LOCAL, **({"slope": g.r.choice((0.1, 0.5))} if g.r.random() < 0.6 else {}))


ROWS = [(local_function, 2)]
