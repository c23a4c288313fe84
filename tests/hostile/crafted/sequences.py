"""Sequences and optionals whose types are wrong, missing or foreign; operators that do not take them; constants that cannot be."""
import numpy as np
import onnx
from onnx import TensorProto, TypeProto, helper

from . import ACCEPT, F32, I64, REFUSE, Case, constant, graph, model, node, value

BIG = 2**63 - 1
X = value("x", F32, (2, 3))


def seq(name, elem=None):
    """A declared sequence; elem: the type of what it holds, of f32 tensors without one."""
    return helper.make_value_info(name, helper.make_sequence_type_proto(elem or tensor()))


def tensor(dtype=F32, shape=None):
    return helper.make_tensor_type_proto(dtype, shape)


def opt(name, elem=None):
    return helper.make_value_info(name, helper.make_optional_type_proto(elem or tensor()))


def bare(name, change):
    """A value of a type that `change` makes up from an empty one."""
    v = onnx.ValueInfoProto(name=name)
    change(v.type)
    return v


def through(v, out=None):
    """A model that only passes a value on."""
    return model([node("Identity", ["s"], ["y"])], [v], [out or seq("y")])


def deep(n):
    t = tensor()
    for _ in range(n):
        t = helper.make_sequence_type_proto(t)
    return t


def types():
    yield "sequence_of_nothing", through(bare("s", lambda t: t.sequence_type.SetInParent()))
    yield "optional_of_nothing", through(bare("s", lambda t: t.optional_type.SetInParent()))
    yield "sequence_of_empty_type", through(bare("s", lambda t: t.sequence_type.elem_type.SetInParent()))
    yield "sequence_of_unknown_elements", through(bare("s", lambda t: setattr(t.sequence_type.elem_type.tensor_type, "elem_type", 99)))
    yield "sequence_of_no_elements", through(bare("s", lambda t: t.sequence_type.elem_type.tensor_type.SetInParent()))
    yield "rank_over_16", through(seq("s", tensor(F32, [1] * 17)))
    yield "output_of_other_kind", through(seq("s"), value("y", F32, (2,)))
    yield "output_tensor_declared_sequence", model([node("Relu", ["x"], ["y"])], [X], [seq("y")])
    yield "output_of_other_elements", through(seq("s"), seq("y", tensor(I64)))
    yield "optional_for_sequence", through(seq("s"), opt("y", helper.make_sequence_type_proto(tensor())))
    yield "optional_of_optional", through(opt("s", helper.make_optional_type_proto(tensor())), opt("y"))
    yield "sequence_of_maps_for_tensors", through(seq("s", TypeProto(map_type=TypeProto.Map(key_type=I64, value_type=tensor()))), seq("y"))


def foreign():
    """Right, and refused as not supported."""
    yield "sequence_of_sequences", through(seq("s", deep(1)), seq("y", deep(1)))
    yield "sequence_of_90", through(seq("s", deep(40)), seq("y", deep(40)))
    yield "sequence_of_4_bits", through(seq("s", tensor(TensorProto.INT4)), seq("y", tensor(TensorProto.INT4)))
    yield "rank_unknown", model([node("SequenceAt", ["s", "i"], ["y"])], [seq("s")], [value("y", F32, None)], [constant("i", 0, np.int64)])


def loop(*nodes, states, results, inputs):
    body = graph(nodes, [value("i", I64, ()), value("c", TensorProto.BOOL, ()), *states], [value("c", TensorProto.BOOL, ()), *results])
    return model([node("Loop", ["n", "", *inputs], ["y"], body=body)], [X, seq("s"), value("n", I64, ())], [seq("y")])


def uses():
    p = [constant("p", 0, np.int64)]
    yield "add_to_tensor", model([node("Add", ["s", "x"], ["y"])], [seq("s"), X], [value("y", F32, None)])
    yield "at_of_tensor", model([node("SequenceAt", ["x", "p"], ["y"])], [X], [value("y", F32, None)], p)
    yield "insert_other_type", model([node("SequenceInsert", ["s", "x"], ["y"])], [seq("s", tensor(I64)), X], [seq("y", tensor(I64))])
    yield "insert_sequence", model([node("SequenceInsert", ["s", "s"], ["y"])], [seq("s")], [seq("y")])
    yield "construct_mixed_types", model([node("SequenceConstruct", ["x", "p"], ["y"])], [X], [seq("y")], p)
    yield "construct_of_nothing", model([node("SequenceConstruct", [], ["y"])], [X], [seq("y")])
    yield "place_of_two", model([node("SequenceAt", ["s", "q"], ["y"])], [seq("s", tensor(F32, [2]))], [value("y", F32, None)], [constant("q", [0, 1], np.int64)])
    yield "place_of_floats", model([node("SequenceAt", ["s", "q"], ["y"])], [seq("s", tensor(F32, [2]))], [value("y", F32, None)], [constant("q", 0, np.float32)])
    yield "empty_of_unknown_type", model([node("SequenceEmpty", [], ["y"], dtype=77)], [X], [seq("y")])
    yield "split_axis", model([node("SplitToSequence", ["x"], ["y"], axis=2)], [X], [seq("y")])
    yield "split_scalar", model([node("SplitToSequence", ["p"], ["y"])], [X], [seq("y", tensor(I64))], p)
    for what, sizes in (("short", [1]), ("long", [1, 2]), ("negative", [3, -1]), ("overflow", [BIG, BIG, 4]), ("rank_2", [[1, 1]]), ("zero", 0), ("below_zero", -2)):
        yield f"split_{what}", model([node("SplitToSequence", ["x", "q"], ["y"])], [X], [seq("y")], [constant("q", sizes, np.int64)])
    yield "concat_axis", model([node("ConcatFromSequence", ["s"], ["y"], axis=3)], [seq("s", tensor(F32, [2, 2]))], [value("y", F32, None)])
    yield "concat_new_axis", model([node("ConcatFromSequence", ["s"], ["y"], axis=0, new_axis=2)], [seq("s", tensor(F32, [2]))], [value("y", F32, None)])
    yield "concat_scalars", model([node("ConcatFromSequence", ["s"], ["y"], axis=0)], [seq("s", tensor(F32, []))], [value("y", F32, None)])
    yield "concat_known_misfits", model([node("SequenceConstruct", ["x", "w"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)], [X], [value("y", F32, None)],
                                        [constant("w", np.zeros((2, 2), np.float32))])
    yield "optional_of_nothing_said", model([node("Optional", [], ["y"])], [X], [opt("y")])
    yield "optional_type_bad", model([node("Optional", [], ["y"], type=TypeProto())], [X], [opt("y")])
    yield "get_without_input", model([node("OptionalGetElement", [""], ["y"])], [X], [value("y", F32, None)])
    yield "old_has_of_tensor", model([node("OptionalHasElement", ["x"], ["y"])], [X], [value("y", TensorProto.BOOL, ())], opset=17)
    yield "old_identity", model([node("Identity", ["s"], ["y"])], [seq("s")], [seq("y")], opset=13)
    yield "map_without_sequence", model([node("SequenceMap", ["x"], ["y"], body=graph([node("Relu", ["a"], ["b"])], [X], [X]))], [X], [seq("y")])
    yield "map_outputs", model([node("SequenceMap", ["s"], ["y", "z"], body=graph([node("Relu", ["a"], ["b"])], [value("a", F32, (2,))], [value("b", F32, (2,))]))],
                               [seq("s", tensor(F32, [2]))], [seq("y"), seq("z")])
    yield "map_inputs", model([node("SequenceMap", ["s"], ["y"], body=graph([node("Relu", ["a"], ["b"])], [value("a", F32, (2,)), value("k", F32, ())], [value("b", F32, (2,))]))],
                              [seq("s", tensor(F32, [2]))], [seq("y")])
    yield "loop_state_becomes_tensor", loop(node("Neg", ["x"], ["s1"]), states=[seq("s0")], results=[value("s1", F32, (2, 3))], inputs=["s"])
    yield "loop_state_becomes_sequence", loop(node("SequenceConstruct", ["x"], ["s1"]), states=[value("s0", F32, (2, 3))], results=[seq("s1")], inputs=["x"])
    yield "loop_state_other_elements", loop(node("SequenceConstruct", ["i"], ["s1"]), states=[seq("s0")], results=[seq("s1", tensor(I64))], inputs=["s"])
    yield "loop_stacks_sequences", loop(node("Identity", ["s"], ["s1"]), states=[], results=[seq("s1")], inputs=[])


def good():
    """What looks odd and is right: (name, model, inputs, outputs)."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield "items_of_a_constant_huge_split", model([node("SplitToSequence", ["x", "q"], ["s"]), node("SequenceAt", ["s", "p"], ["y"])], [X], [value("y", F32, (2, 3))],
                                                  [constant("q", BIG, np.int64), constant("p", -1, np.int64)]), [x], [x]
    yield "unused", model([node("SequenceConstruct", ["x"] * 300, ["s"]), node("Relu", ["x"], ["y"])], [X], [value("y", F32, (2, 3))]), [x], [x]
    yield "chain", model([node("SequenceEmpty", [], ["s0"]), *(node("SequenceInsert", [f"s{k}", "x"], [f"s{k + 1}"]) for k in range(400)),
                          node("SequenceLength", ["s400"], ["y"])], [X], [value("y", I64, ())]), [x], [np.int64(400)]


def cases():
    for name, built in [*types(), *uses()]:
        yield Case(name, REFUSE, built)
    for name, built in foreign():
        yield Case(f"unsupported_{name}", ACCEPT, built)
    for name, built, inputs, outputs in good():
        yield Case(name, ACCEPT, built, data=[(inputs, outputs)])
