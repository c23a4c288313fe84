"""Sizes: tensors whose data and dimensions disagree, products that overflow, and bombs: small files that ask for
terabytes, as constants (a compiler that folds them is lost) and as values that are known at run time only."""
import numpy as np
from onnx import TensorProto, helper

from . import (ACCEPT, ANY, BOOL, F16, F32, F64, I32, I64, REFUSE, STRING, U8, Case, constant, graph, model, node, relu_data,
               relu_model, value)

TERA = 2**42


def with_initializer(**fields):
    """y = x + w with the fields of w as given."""
    built = model([node("Add", ["x", "w"], ["y"])], [value("x", F32, (2, 3))], [value("y", F32, (2, 3))])
    built.graph.initializer.append(TensorProto(name="w", **fields))
    return built


def tensors():
    """(name, expect, model)"""
    raw = np.arange(6, dtype=np.float32).tobytes()
    fine = dict(data_type=F32, dims=[2, 3])
    yield "raw_short", REFUSE, with_initializer(**fine, raw_data=raw[:-1])
    yield "raw_long", REFUSE, with_initializer(**fine, raw_data=raw + b"\0")
    yield "raw_none", REFUSE, with_initializer(**fine)
    yield "floats_few", REFUSE, with_initializer(**fine, float_data=[1.0] * 5)
    yield "floats_many", REFUSE, with_initializer(**fine, float_data=[1.0] * 7)
    yield "ints_for_floats", REFUSE, with_initializer(**fine, int32_data=[1] * 6)
    yield "floats_for_ints", REFUSE, with_initializer(data_type=I64, dims=[2, 3], float_data=[1.0] * 6)
    yield "doubles_for_floats", REFUSE, with_initializer(**fine, double_data=[1.0] * 6)
    yield "strings_for_floats", REFUSE, with_initializer(**fine, string_data=[b"1"] * 6)
    yield "raw_for_strings", REFUSE, with_initializer(data_type=STRING, dims=[2, 3], raw_data=raw)
    yield "raw_and_floats", ANY, with_initializer(**fine, raw_data=raw, float_data=[1.0] * 6)
    yield "segment", REFUSE, with_initializer(**fine, raw_data=raw, segment=TensorProto.Segment(begin=0, end=3))
    for name, number in (("undefined", 0), ("unknown", 999), ("negative", -1), ("complex", TensorProto.COMPLEX64)):
        yield f"type_{name}", REFUSE, with_initializer(data_type=number, dims=[2, 3], raw_data=raw)
    yield "type_missing", REFUSE, with_initializer(dims=[2, 3], raw_data=raw)
    for name, dims in (("negative", [-2, -3]), ("one_negative", [2, -3]), ("minimum", [-2**63]), ("huge", [2**62]),
                       ("huge_times_four", [2**62, 4]), ("wraps_to_six", [2**63 - 1, 2]), ("wraps_to_zero", [2**32, 2**32]),
                       ("bytes_wrap", [2**61 + 1]), ("zero_times_huge", [0, 2**62, 2**62]), ("too_many", [1] * 70000 + [6]),
                       ("transposed", [3, 2]), ("scalar", []), ("flat", [6])):
        expect = {"flat": REFUSE, "too_many": ANY}.get(name, REFUSE)
        yield f"dims_{name}", expect, with_initializer(data_type=F32, dims=dims, raw_data=raw)
    yield "bool_values", ANY, model([node("Not", ["w"], ["n"]), node("And", ["x", "n"], ["y"])], [value("x", BOOL, (4,))],
                                    [value("y", BOOL, (4,))], [TensorProto(name="w", data_type=BOOL, dims=[4],
                                                                           raw_data=b"\x00\x01\x02\xff")])
    yield "int32_data_for_u8", ANY, model([node("Add", ["x", "w"], ["y"])], [value("x", U8, (2,))], [value("y", U8, (2,))],
                                          [TensorProto(name="w", data_type=U8, dims=[2], int32_data=[-1, 70000])])
    yield "half_bits", ANY, model([node("Add", ["x", "w"], ["y"])], [value("x", F16, (2,))], [value("y", F16, (2,))],
                                  [TensorProto(name="w", data_type=F16, dims=[2], int32_data=[-1, 70000])])
    yield "sparse_indices_outside", REFUSE, sparse([0, 99])
    yield "sparse_indices_negative", REFUSE, sparse([-1, 2])
    yield "sparse_indices_unsorted", ANY, sparse([4, 1])
    yield "sparse_dims_huge", REFUSE, sparse([0, 1], dims=[2**40, 2**40])


def sparse(indices, dims=(2, 3)):
    tensor = helper.make_sparse_tensor(constant("w", [1.0, 2.0], np.float32), constant("", indices, np.int64), list(dims))
    built = model([node("Add", ["x", "w"], ["y"])], [value("x", F32, (2, 3))], [value("y", F32, (2, 3))])
    built.graph.sparse_initializer.append(tensor)
    return built


def shapes():
    """Declared inputs of impossible or odd sizes."""
    for name, expect, dims in (("product_64_bits", REFUSE, [2**40, 2**40]), ("bytes_64_bits", REFUSE, [2**62]),
                               ("maximum", REFUSE, [2**63 - 1]), ("minimum", ANY, [-2**63]), ("minus_one", ANY, [-1, 3]),
                               ("many_dims", ANY, [1] * 1000), ("product_wraps", REFUSE, [2**32, 2**32, 1]),
                               ("tera", ANY, [TERA]), ("wraps_with_zero", ANY, [2**62, 2**62, 0])):
        yield f"input_{name}", expect, relu_model(tuple(dims))
    for name, dims in (("zero", (0, 3)), ("only_zero", (0,)), ("scalar", ()), ("one", (1,)), ("rank_8", (1, 2, 1, 2, 1, 2, 1, 2))):
        yield f"input_{name}", ACCEPT, (relu_model(dims), relu_data(dims))


def bomb(nodes, initializers, dims=None, reduced=False, dtype=F32):
    """Nodes that make `big` out of constants; whole as the output, or only its sum."""
    if reduced:
        nodes = [*nodes, node("ReduceSum", ["big"], ["s"], keepdims=0), node("Cast", ["s"], ["f"], to=F32),
                 node("Add", ["x", "f"], ["y"])]
        return model(nodes, [value("x", F32, ())], [value("y", F32, ())], initializers)
    return model([*nodes, node("Identity", ["big"], ["y"])], [], [value("y", dtype, dims)], initializers)


def ints(name, *numbers):
    return constant(name, list(numbers), np.int64)


def doubling(levels, op, **attributes):
    """Each node twice as large as the one before."""
    return [node(op, [f"d{i}", f"d{i}"], [f"d{i + 1}" if i < levels - 1 else "big"], **attributes) for i in range(levels)]


def constant_bombs():
    """name: (nodes, initializers, rank of `big`)"""
    one, big_shape = constant("o", [1.0], np.float32), ints("s", 2**21, 2**21)
    square = constant("q", np.ones((1, 1), np.float32))
    image = constant("i", np.ones((1, 1, 2, 2), np.float32))
    return {
        "constant_of_shape": ([node("ConstantOfShape", ["s"], ["big"])], [big_shape], 2),
        "constant_of_shape_wraps": ([node("ConstantOfShape", ["s"], ["big"])], [ints("s", 2**32, 2**32)], 2),
        "constant_of_shape_huge": ([node("ConstantOfShape", ["s"], ["big"])], [ints("s", 2**62)], 1),
        "tile": ([node("Tile", ["o", "s"], ["big"])], [one, ints("s", TERA)], 1),
        "tile_wraps": ([node("Tile", ["q", "s"], ["big"])], [square, ints("s", 2**33, 2**33)], 2),
        "expand": ([node("Expand", ["o", "s"], ["big"])], [one, big_shape], 2),
        "range": ([node("Range", ["a", "b", "c"], ["r"]), node("Cast", ["r"], ["big"], to=F32)],
                  [constant("a", 0, np.int64), constant("b", TERA, np.int64), constant("c", 1, np.int64)], 1),
        "range_float": ([node("Range", ["a", "b", "c"], ["big"])],
                        [constant("a", 0, np.float32), constant("b", 1e20, np.float32), constant("c", 1e-20, np.float32)], 1),
        "range_maximum": ([node("Range", ["a", "b", "c"], ["r"]), node("Cast", ["r"], ["big"], to=F32)],
                          [constant("a", -2**63, np.int64), constant("b", 2**63 - 1, np.int64), constant("c", 1, np.int64)], 1),
        "concat_doubling": (doubling(45, "Concat", axis=0), [constant("d0", [1.0], np.float32)], 1),
        "concat_doubling_70": (doubling(70, "Concat", axis=0), [constant("d0", [1.0], np.float32)], 1),
        "resize": ([node("Resize", ["i", "", "k"], ["big"])], [image, constant("k", [1, 1, 2**21, 2**20], np.float32)], 4),
        "resize_sizes": ([node("Resize", ["i", "", "", "z"], ["big"])], [image, ints("z", 1, 1, 2**21, 2**21)], 4),
        "resize_infinite": ([node("Resize", ["i", "", "k"], ["big"])],
                            [image, constant("k", [1, 1, np.inf, np.inf], np.float32)], 4),
        "pad": ([node("Pad", ["o", "p"], ["big"])], [one, ints("p", 0, TERA)], 1),
        "pad_wraps": ([node("Pad", ["o", "p"], ["big"])], [one, ints("p", 2**62, 2**62)], 1),
        "one_hot": ([node("OneHot", ["n", "d", "v"], ["big"])],
                    [ints("n", 1, 2), constant("d", TERA, np.int64), constant("v", [0, 1], np.float32)], 2),
        "broadcast": ([node("ConstantOfShape", ["s"], ["u"]), node("Transpose", ["u"], ["t"]), node("Add", ["u", "t"], ["big"])],
                      [ints("s", 2**21, 1)], 2),
        "outer_product": ([node("ConstantOfShape", ["s"], ["u"]), node("Transpose", ["u"], ["t"]), node("MatMul", ["u", "t"], ["big"])],
                          [ints("s", 2**21, 1)], 2),
        "conv_transpose": ([node("ConvTranspose", ["i", "i"], ["big"], strides=[2**21, 2**21])], [image], 4),
        "gather": ([node("ConstantOfShape", ["s"], ["n"], value=constant("v", [0], np.int64)), node("Gather", ["o", "n"], ["big"])],
                   [one, big_shape], 2),
        "random": ([node("RandomUniform", [], ["big"], shape=[2**21, 2**21])], [], 2),
        "concat_then_tile": (doubling(40, "Concat", axis=0)[:39] + [node("Tile", ["d39", "s"], ["big"])],
                           [constant("d0", [1.0], np.float32), ints("s", 2**20)], 1),
    }


def runtime_bombs():
    """The same, asked for by an input: nothing to refuse, nothing to allocate at compile time."""
    any1, any2 = [None], [None, None]
    f32 = [value("f", F32, (1,))]
    yield "constant_of_shape", [node("ConstantOfShape", ["s"], ["y"])], [value("s", I64, (2,))], any2
    yield "tile", [node("Tile", ["f", "s"], ["y"])], [*f32, value("s", I64, (1,))], any1
    yield "expand", [node("Expand", ["f", "s"], ["y"])], [*f32, value("s", I64, (3,))], [None] * 3
    yield "expand_any_rank", [node("Expand", ["f", "s"], ["y"])], [*f32, value("s", I64, (None,))], None
    yield "pad", [node("Pad", ["f", "s"], ["y"])], [*f32, value("s", I64, (2,))], any1
    yield "range", [node("Range", ["a", "b", "c"], ["y"])], [value(n, F32, ()) for n in "abc"], any1
    yield "concat_doubling", [node("Concat", [f"d{i}", f"d{i}"], [f"d{i + 1}" if i < 44 else "y"], axis=0) for i in range(45)], \
        [value("d0", F32, ("n",))], any1
    yield "tile_doubling", [node("Tile", [f"d{i}", "two"], [f"d{i + 1}" if i < 62 else "y"]) for i in range(63)], \
        [value("d0", F32, ("n",))], any1
    yield "resize", [node("Resize", ["i", "", "k"], ["y"])], [value("i", F32, (1, 1, 2, 2)), value("k", F32, (4,))], [None] * 4
    yield "non_zero", [node("ConstantOfShape", ["s"], ["t"], value=constant("v", [1.0], np.float32)),
                       node("NonZero", ["t"], ["y"])], [value("s", I64, (2,))], any2


def medium_bombs():
    """Allowed, but not worth holding in memory while compiling."""
    shape = ints("s", 2**14, 2**14)  # 1 GiB of float
    fill = node("ConstantOfShape", ["s"], ["g"], value=constant("v", [2.0], np.float32))
    x, y = value("x", F32, (1, 1)), value("y", F32, (2**14, 2**14))
    yield "gigabyte_added", model([fill, node("Add", ["x", "g"], ["y"])], [x], [y], [shape])
    yield "gigabyte_output", model([fill, node("Identity", ["g"], ["y"])], [], [y], [shape])
    yield "gigabyte_summed", model([fill, node("ReduceSum", ["g"], ["t"]), node("Add", ["x", "t"], ["y"])], [x],
                                   [value("y", F32, (1, 1))], [shape])
    yield "gigabyte_sine", model([fill, node("Sin", ["g"], ["h"]), node("Add", ["x", "h"], ["y"])], [x], [y], [shape])
    nodes = [node("ConstantOfShape", ["s"], [f"g{i}"], value=constant("v", [float(i)], np.float32)) for i in range(500)]
    yield "500_of_4_megabytes", model([*nodes, node("Sum", [f"g{i}" for i in range(500)], ["t"]), node("Add", ["x", "t"], ["y"])],
                                      [x], [value("y", F32, (2**10, 2**10))], [ints("s", 2**10, 2**10)])
    chain = [node("MatMul", [f"m{i}", f"m{i}"], [f"m{i + 1}"]) for i in range(20)]
    yield "matrix_power", model([node("ConstantOfShape", ["s"], ["m0"]), *chain, node("Add", ["x", "m20"], ["y"])], [x],
                                [value("y", F32, (2**11, 2**11))], [ints("s", 2**11, 2**11)])
    yield "gather_one_of_tera", model([node("ConstantOfShape", ["s"], ["g"]), node("Gather", ["g", "i"], ["t"]),
                                       node("Add", ["x", "t"], ["y"])], [x], [value("y", F32, (1, 1))],
                                      [ints("s", TERA), ints("i", 5)])


def loop_bombs():
    """Loops over constants that a folding compiler would run."""
    cond, i, v = value("k", BOOL, ()), value("i", I64, ()), value("v", F32, (1,))
    body = graph([node("Identity", ["k"], ["k2"]), node("Add", ["v", "v"], ["w"])], [i, cond, v],
                 [value("k2", BOOL, ()), value("w", F32, (1,))], name="body")
    for name, trips in (("long", 2**40), ("maximum", 2**63 - 1), ("negative", -5)):
        yield f"loop_{name}", model([node("Loop", ["m", "c", "o"], ["t"], body=body), node("Add", ["x", "t"], ["y"])],
                                    [value("x", F32, (1,))], [value("y", F32, (1,))],
                                    [constant("m", trips, np.int64), constant("c", True), constant("o", [1.0], np.float32)])
    collect = graph([node("Identity", ["k"], ["k2"]), node("Identity", ["o"], ["w"])], [i, cond],
                    [value("k2", BOOL, ()), value("w", F32, (1,))], name="body")
    yield "loop_collects_tera", model([node("Loop", ["m", "c"], ["y"], body=collect)], [], [value("y", F32, (None, 1))],
                                      [constant("m", TERA, np.int64), constant("c", True), constant("o", [1.0], np.float32)])


def cases():
    for name, expect, built in tensors():
        yield Case(f"tensor_{name}", expect, built)
    for name, expect, built in shapes():
        built, data = built if isinstance(built, tuple) else (built, [])
        yield Case(name, expect, built, data=data)
    for name, (nodes, initializers, rank) in constant_bombs().items():
        yield Case(f"bomb_{name}", REFUSE, bomb(nodes, initializers, [None] * rank), "terabytes of constants as an output")
        yield Case(f"bomb_{name}_summed", ANY, bomb(nodes, initializers, reduced=True), "terabytes of constants, then a sum")
    for name, nodes, inputs, dims in runtime_bombs():
        built = model(nodes, inputs, [value("y", F32 if name != "non_zero" else I64, dims)], [ints("two", 2)])
        yield Case(f"runtime_{name}", ANY, built, "large only if the caller asks for it")
    for name, built in (*medium_bombs(), *loop_bombs()):
        yield Case(f"bomb_{name}", ANY, built, "the compiler's own memory and time are limited")
    yield Case("double_as_float", REFUSE, model([node("Add", ["x", "w"], ["y"])], [value("x", F32, (2,))], [value("y", F32, (2,))],
                                                [constant("w", [1.0, 2.0], np.float64)]), "types of Add disagree")
    yield Case("int32_min_div", ANY, division(np.int32, I32), "INT_MIN / -1 in constants")
    yield Case("int64_min_div", ANY, division(np.int64, I64), "INT_MIN / -1 in constants")
    yield Case("double_div_zero", ANY, division(np.float64, F64), "x / 0 in constants")


def division(dtype, number):
    low = np.iinfo(dtype).min if np.issubdtype(dtype, np.integer) else -1.0
    nodes = [node("Div", ["a", "b"], ["q"]), node("Mod", ["a", "b"], ["r"], fmod=int(dtype == np.float64)),
             node("Abs", ["a"], ["p"]), node("Neg", ["a"], ["n"]), node("Sum" if dtype == np.float64 else "Max", ["q", "r", "p", "n"], ["t"]),
             node("Add", ["x", "t"], ["y"])]
    return model(nodes, [value("x", number, (4,))], [value("y", number, (4,))],
                 [constant("a", [low, low, 1, 0], dtype), constant("b", [-1, 0, 0, 0], dtype)])
