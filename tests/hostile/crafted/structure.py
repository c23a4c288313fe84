"""Graphs that hang together wrongly: circles, duplicates, undefined values, wrong counts, subgraphs, deep nesting."""
import numpy as np
import onnx
from onnx import helper

from . import (ACCEPT, ANY, BOOL, F32, I64, REFUSE, STRING, Case, constant, graph, message, model, node, relu_data,
               relu_model, to_bytes, value, varint)

X, Y = value("x", F32, (2, 3)), value("y", F32, (2, 3))


def on_xy(*nodes, **options):
    return model(nodes, [X], [Y], **options)


def circle(length):
    ring = [node("Add", ["x", f"c{(i - 1) % length}"], [f"c{i}"]) for i in range(length)]
    return on_xy(*ring, node("Relu", ["c0"], ["y"]))


def graphs():
    """(name, expect, model): no subgraphs."""
    one = constant("w", np.ones((2, 3), np.float32))
    two = constant("w", np.zeros((2, 3), np.float32))
    yield "self_loop", REFUSE, on_xy(node("Add", ["x", "y"], ["y"]))
    yield "self_loop_unused", REFUSE, on_xy(node("Add", ["x", "a"], ["a"]), node("Relu", ["x"], ["y"]))
    for length in (2, 3, 10, 1000):
        yield f"circle_{length}", REFUSE, circle(length)
    yield "two_circles", REFUSE, on_xy(node("Add", ["b", "x"], ["a"]), node("Relu", ["a"], ["b"]),
                                       node("Add", ["d", "x"], ["c"]), node("Relu", ["c"], ["d"]),
                                       node("Add", ["b", "d"], ["y"]))
    yield "undefined_input", REFUSE, on_xy(node("Add", ["x", "nothing"], ["y"]))
    yield "undefined_output", REFUSE, on_xy(node("Relu", ["x"], ["z"]))
    yield "undefined_in_dead_node", ANY, on_xy(node("Relu", ["nothing"], ["z"]), node("Relu", ["x"], ["y"]))
    yield "undefined_by_case", REFUSE, on_xy(node("Relu", ["X"], ["y"]))
    yield "undefined_many", REFUSE, on_xy(*[node("Relu", [f"n{i}"], [f"m{i}"]) for i in range(3000)],
                                          node("Sum", [f"m{i}" for i in range(3000)], ["y"]))
    yield "defined_twice", REFUSE, on_xy(node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"]))
    yield "defined_twice_by_one_node", REFUSE, on_xy(node("Split", ["x"], ["a", "a"], axis=0), node("Relu", ["a"], ["y"]))
    yield "output_is_input_name", REFUSE, on_xy(node("Relu", ["x"], ["x"]), node("Relu", ["x"], ["y"]))
    yield "output_is_initializer_name", REFUSE, on_xy(node("Relu", ["x"], ["w"]), node("Relu", ["w"], ["y"]),
                                                      initializers=[one])
    yield "initializer_twice", REFUSE, on_xy(node("Add", ["x", "w"], ["y"]), initializers=[one, two])
    yield "initializer_twice_equal", ANY, on_xy(node("Add", ["x", "w"], ["y"]), initializers=[one, one])
    yield "initializer_unnamed", ANY, on_xy(node("Relu", ["x"], ["y"]), initializers=[constant("", [1.0], np.float32)])
    yield "input_twice", REFUSE, model([node("Relu", ["x"], ["y"])], [X, X], [Y])
    yield "output_twice", ANY, model([node("Relu", ["x"], ["y"])], [X], [Y, Y])
    yield "input_unnamed", REFUSE, model([node("Relu", [""], ["y"])], [value("", F32, (2, 3))], [Y])
    yield "output_unnamed", REFUSE, model([node("Relu", ["x"], [""])], [X], [value("", F32, (2, 3))])
    yield "no_outputs", ANY, model([node("Relu", ["x"], ["y"])], [X], [])
    yield "no_nodes", REFUSE, model([], [X], [Y])
    yield "nothing_at_all", ANY, model([], [], [])
    yield "operator_unnamed", REFUSE, on_xy(node("", ["x"], ["y"]))
    yield "operator_unknown", REFUSE, on_xy(node("NoSuchThing", ["x"], ["y"]))
    yield "operator_case", REFUSE, on_xy(node("relu", ["x"], ["y"]))
    yield "operator_long", REFUSE, on_xy(node("R" * 10**6, ["x"], ["y"]))
    yield "domain_unknown", REFUSE, on_xy(node("Relu", ["x"], ["y"], domain="no.such.domain"))
    yield "no_opset", ANY, without_opset()
    yield "opset_zero", REFUSE, on_xy(node("Relu", ["x"], ["y"]), opset=0)
    yield "opset_negative", REFUSE, on_xy(node("Relu", ["x"], ["y"]), opset=-1)
    yield "opset_minimum", REFUSE, on_xy(node("Relu", ["x"], ["y"]), opset=-2**63)
    yield "opset_future", ANY, on_xy(node("Relu", ["x"], ["y"]), opset=9999)
    yield "opset_maximum", ANY, on_xy(node("Relu", ["x"], ["y"]), opset=2**63 - 1)
    yield "opset_before_operator", REFUSE, on_xy(node("Mish", ["x"], ["y"]), opset=9)
    yield "opset_after_operator", REFUSE, on_xy(node("Upsample", ["x", "x"], ["y"]), opset=13)
    yield "opset_twice", ANY, on_xy(node("Relu", ["x"], ["y"]), imports=[("", 11)])
    yield "ir_zero", ANY, relu_model(ir=0)
    yield "ir_negative", ANY, relu_model(ir=-1)
    yield "ir_future", ANY, relu_model(ir=2**40)
    yield "input_no_type", REFUSE, model([node("Relu", ["x"], ["y"])], [onnx.ValueInfoProto(name="x")], [Y])
    yield "output_no_type", ANY, model([node("Relu", ["x"], ["y"])], [X], [onnx.ValueInfoProto(name="y")])
    yield "input_type_0", REFUSE, model([node("Relu", ["x"], ["y"])], [value("x", 0, (2, 3))], [Y])
    yield "input_type_999", REFUSE, model([node("Relu", ["x"], ["y"])], [value("x", 999, (2, 3))], [Y])
    yield "input_type_negative", REFUSE, model([node("Relu", ["x"], ["y"])], [value("x", -1, (2, 3))], [Y])
    yield "output_type_lies", REFUSE, model([node("Relu", ["x"], ["y"])], [X], [value("y", I64, (2, 3))])
    yield "output_rank_lies", ANY, model([node("Relu", ["x"], ["y"])], [X], [value("y", F32, (2, 3, 1))])
    yield "output_shape_lies", ANY, model([node("Relu", ["x"], ["y"])], [X], [value("y", F32, (2, 4))])
    yield "value_info_lies", ANY, lying_value_info()
    yield "string_arithmetic", REFUSE, model([node("Add", ["x", "x"], ["y"])], [value("x", STRING, (2,))],
                                             [value("y", STRING, (2,))])
    yield "many_unknown_operators", REFUSE, on_xy(*[node(f"Nope{i}", ["x"], [f"v{i}"]) for i in range(5000)],
                                                  node("Relu", ["x"], ["y"]))


def without_opset():
    built = relu_model()
    del built.opset_import[:]
    return built


def lying_value_info():
    built = on_xy(node("Relu", ["x"], ["m"]), node("Relu", ["m"], ["y"]))
    built.graph.value_info.append(value("m", I64, (7, 7, 7)))
    return built


COND = value("c", BOOL, ())


def branching(then_graph, else_graph, outputs=("y",), inputs=(COND, X)):
    return model([node("If", ["c"], list(outputs), then_branch=then_graph, else_branch=else_graph)], inputs,
                 [value(name, F32, (2, 3)) for name in outputs])


def branch(*nodes, outputs=("b",), initializers=(), name="branch"):
    return graph(nodes, [], [value(o, F32, (2, 3)) for o in outputs], initializers, name)


def loop(body_inputs, body_nodes, body_outputs, node_inputs=("trip", "c", "x"), node_outputs=("y",)):
    body = graph(body_nodes, body_inputs, body_outputs, name="body")
    return model([node("Loop", list(node_inputs), list(node_outputs), body=body)],
                 [value("trip", I64, ()), COND, X], [value(o, F32, (2, 3)) for o in node_outputs])


def subgraphs():
    fine = branch(node("Relu", ["x"], ["b"]))
    yield "if_fine", ACCEPT, branching(fine, branch(node("Neg", ["x"], ["b"])))
    yield "if_undefined", REFUSE, branching(branch(node("Relu", ["q"], ["b"])), fine)
    yield "if_circle", REFUSE, branching(branch(node("Add", ["x", "b"], ["b"])), fine)
    yield "if_reads_own_result", REFUSE, branching(branch(node("Relu", ["y"], ["b"])), fine)
    yield "if_reads_other_branch", REFUSE, branching(branch(node("Relu", ["x"], ["t"]), node("Relu", ["t"], ["b"])),
                                                     branch(node("Relu", ["t"], ["b"])))
    yield "if_one_branch", REFUSE, one_branch(fine)
    yield "if_counts_differ", REFUSE, branching(branch(node("Relu", ["x"], ["b"]), node("Neg", ["x"], ["d"]),
                                                       outputs=("b", "d")), fine)
    yield "if_too_many_results", REFUSE, branching(fine, fine, outputs=("y", "z"))
    yield "if_branch_has_inputs", REFUSE, branching(graph([node("Relu", ["i"], ["b"])], [value("i", F32, (2, 3))],
                                                          [value("b", F32, (2, 3))]), fine)
    yield "if_types_differ", REFUSE, branching(branch(node("Cast", ["x"], ["b"], to=I64)), fine)
    yield "if_condition_float", REFUSE, branching(fine, fine, inputs=(value("c", F32, ()), X))
    yield "if_condition_many", REFUSE, branching(fine, fine, inputs=(value("c", BOOL, (5,)), X))
    yield "if_branch_is_not_graph", REFUSE, model([node("If", ["c"], ["y"], then_branch=3, else_branch=4)], [COND, X], [Y])
    yield "if_defined_twice_inside", REFUSE, branching(branch(node("Relu", ["x"], ["b"]), node("Neg", ["x"], ["b"])), fine)
    yield "if_shadows_outer", ANY, branching(branch(node("Relu", ["x"], ["x"]), node("Relu", ["x"], ["b"])), fine)
    cond, i = value("k", BOOL, ()), value("i", I64, ())
    v, w = value("v", F32, (2, 3)), value("w", F32, (2, 3))
    keep = [node("Identity", ["k"], ["k2"]), node("Relu", ["v"], ["w"])]
    k2 = value("k2", BOOL, ())
    yield "loop_fine", ACCEPT, loop([i, cond, v], keep, [k2, w])
    yield "loop_body_lacks_input", REFUSE, loop([i, cond], [node("Identity", ["k"], ["k2"]), node("Relu", ["x"], ["w"])], [k2, w])
    yield "loop_body_lacks_output", REFUSE, loop([i, cond, v], keep, [k2])
    yield "loop_body_no_output", REFUSE, loop([i, cond, v], keep, [])
    yield "loop_condition_float", REFUSE, loop([i, cond, v], [node("Cast", ["k"], ["k2"], to=F32), keep[1]],
                                               [value("k2", F32, ()), w])
    yield "loop_state_changes_type", REFUSE, loop([i, cond, v], [keep[0], node("Cast", ["v"], ["w"], to=I64)],
                                                  [k2, value("w", I64, (2, 3))])
    yield "loop_undefined", REFUSE, loop([i, cond, v], [keep[0], node("Add", ["v", "q"], ["w"])], [k2, w])
    yield "loop_no_body", REFUSE, model([node("Loop", ["trip", "c", "x"], ["y"])], [value("trip", I64, ()), COND, X], [Y])


def one_branch(fine):
    return model([node("If", ["c"], ["y"], then_branch=fine)], [COND, X], [Y])


def nested_ifs(depth):
    inner = branch(node("Relu", ["x"], ["b"]))
    for level in range(depth):
        inner = branch(node("If", ["c"], ["b"], then_branch=inner, else_branch=branch(node("Neg", ["x"], ["b"]))),
                       name=f"level{level}")
    return branching(inner, branch(node("Neg", ["x"], ["b"])))


def nested_graphs(depth):
    """An If in an If in an If …: too deep for any protobuf library, so written by hand, from the inside out."""
    heads, length = [], 0
    for _ in range(depth):
        for prefix, field in ((b"\x0a\x01b", 6), (b"\x22\x02If", 5), (b"", 1)):  # attribute.g, node.attribute, graph.node
            head = prefix + varint(field << 3 | 2) + varint(length)
            heads.append(head)
            length += len(head)
    body = b"".join(reversed(heads))
    return b"\x08\x08" + message(7, body) + message(8, b"\x10\x11")


def nested_type(depth):
    """x: sequence(sequence(…)), by hand as well."""
    heads, length = [], 0
    for _ in range(depth):
        for field in (1, 4):  # Sequence.elem_type, TypeProto.sequence_type
            head = varint(field << 3 | 2) + varint(length)
            heads.append(head)
            length += len(head)
    info = message(1, b"x") + message(2, b"".join(reversed(heads)))
    return to_bytes(relu_model()) + message(7, message(11, info))


def depth_cases():
    yield Case("nested_20_ifs", ACCEPT, nested_ifs(20), "60 message levels")
    yield Case("nested_90_levels", ANY, nested_graphs(30), "just under a limit of 100")
    for depth in (100, 1000, 20000):
        yield Case(f"nested_{depth}_graphs", REFUSE, nested_graphs(depth), "deeper than any stack should go")
        yield Case(f"nested_{depth}_types", REFUSE, nested_type(depth), "sequences of sequences")
    yield Case("chain_of_20000", ACCEPT, on_xy(*[node("Relu", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < 19999 else "y"])
                                                 for i in range(20000)]), "long, but legal")
    yield Case("fan_out_5000", ACCEPT, on_xy(*[node("Relu", ["x"], [f"v{i}"]) for i in range(5000)],
                                             node("Sum", [f"v{i}" for i in range(5000)], ["y"])), "wide, but legal")
    yield Case("attributes_5000", REFUSE, many_attributes(), "an operator without attributes")


def many_attributes():
    built = relu_model()
    built.graph.node[0].attribute.extend(helper.make_attribute(f"a{i}", i) for i in range(5000))
    return built


def cases():
    for generate in (graphs, subgraphs):
        for name, expect, built in generate():
            yield Case(name, expect, built)
    yield from depth_cases()
    yield Case("plain", ACCEPT, relu_model(), "the model that all of these are bent from", data=relu_data())
