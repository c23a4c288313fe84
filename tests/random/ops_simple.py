"""Rows of operators that work element by element, and on types."""
import numpy as np
from onnx import TensorProto, helper

import forms
from graph import ANY, BF16, EVERY, FLOATS, REALS, SIGNED, TEXT, UNSIGNED, Unfit, broadcast

SINGLE = (np.float32, np.float64)
SMOOTH = {op: SINGLE if op in ("Erf", "Softplus", "Softsign", "Elu", "Selu", "HardSigmoid", "Celu", "ThresholdedRelu") else FLOATS
          for op in ("Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Elu", "LeakyRelu", "Selu", "HardSigmoid", "Celu")}
FLOAT_ONLY = {"Erf": (np.float32,), "Softplus": (np.float32,), "Softsign": (np.float32,), "Celu": (np.float32,), "Selu": (np.float32,),
              "Elu": (np.float32,), "HardSigmoid": (np.float32,), "Sigmoid": SINGLE, "Tanh": SINGLE, "LeakyRelu": (np.float32,),
              "HardSwish": (np.float32,), "Mish": (np.float32,), "Gelu": (np.float32,), "Sin": SINGLE, "Cos": SINGLE, "Atan": (np.float32,)}


def smooth(g):
    op = g.r.choice([o for o in FLOAT_ONLY if o != "Gelu" or g.opset >= 20])
    x = g.pick(FLOAT_ONLY[op])
    attributes = {"Elu": {"alpha": 0.5}, "LeakyRelu": {"alpha": 0.25}, "Celu": {"alpha": 2.0}, "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
                  "Gelu": {"approximate": g.r.choice(("none", "tanh"))}}.get(op, {})
    g.add(op, [x], [(x.dtype, x.shape, False)], **(attributes if g.r.random() < 0.7 else {}))


def exact_unary(g):
    op = g.r.choice(("Neg", "Abs", "Relu", "Identity"))
    x = g.pick({"Identity": EVERY, "Relu": REALS, "Abs": REALS + SIGNED + UNSIGNED}.get(op, REALS + SIGNED))
    g.add(op, [x], [(x.dtype, x.shape, x.exact)])


def jumping(g):
    op = g.r.choice(("Floor", "Ceil", "Round", "Sign"))
    x = g.pick((np.float32, np.float64), exact=True)
    g.add(op, [x], [(x.dtype, x.shape, True)])


def guarded(g):
    """Square roots, logarithms, quotients, powers of what is away from where they end."""
    x = g.pick((np.float32,))
    half = g.constant(np.array(0.5, np.float32))
    above = g.add("Add", [g.add("Abs", [x], [(x.dtype, x.shape, x.exact)]), half], [(x.dtype, x.shape, x.exact)])
    op = g.r.choice(("Sqrt", "Log", "Reciprocal", "Div", "Pow"))
    if op == "Div":
        y = g.partner(x)
        g.add(op, [y, above], [(x.dtype, broadcast(x.shape, y.shape), False)])
    elif op == "Pow":
        g.add(op, [above, g.constant(np.array(g.r.choice((2, 0.5, 3, -1)), np.float32))], [(x.dtype, x.shape, False)])
    else:
        g.add(op, [above], [(x.dtype, x.shape, False)])


def arithmetic(g):
    op = g.r.choice(("Add", "Sub", "Mul"))
    x = g.pick(REALS + SIGNED + UNSIGNED)
    y = g.partner(x)
    operands = [x, y] if g.r.random() < 0.5 else [y, x]
    whole = x.dtype not in REALS
    g.add(op, operands, [(x.dtype, broadcast(x.shape, y.shape), whole and x.exact and y.exact)])


def several(g):
    op = g.r.choice(("Max", "Min", "Sum", "Mean"))
    x = g.pick(REALS + SIGNED + UNSIGNED if op in ("Max", "Min") else (np.float32, np.float64))
    shape, operands, exact = x.shape, [x], x.exact
    for _ in range(g.r.randint(0, 2)):
        y = g.partner(x)
        if broadcast(shape, y.shape) is None:
            continue
        shape, exact = broadcast(shape, y.shape), exact and y.exact
        operands.append(y)
    g.add(op, operands, [(x.dtype, shape, exact and op in ("Max", "Min"))])


def compare(g):
    op = g.r.choice(("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"))
    x = g.pick(ANY + (BF16, TEXT), exact=True)
    y = g.partner(x)
    if not y.exact:
        raise Unfit
    g.add(op, [x, y], [(np.bool_, broadcast(x.shape, y.shape), True)])


def logic(g):
    x = g.pick((np.bool_,))
    if g.r.random() < 0.3:
        g.add("Not", [x], [(np.bool_, x.shape, True)])
    else:
        y = g.partner(x)
        g.add(g.r.choice(("And", "Or", "Xor")), [x, y], [(np.bool_, broadcast(x.shape, y.shape), True)])


def where(g):
    c, x = g.pick((np.bool_,)), g.pick(EVERY)
    y = g.partner(x)
    shape = broadcast(broadcast(x.shape, y.shape), c.shape)
    if shape is None:
        raise Unfit
    g.add("Where", [c, x, y], [(x.dtype, shape, x.exact and y.exact)])


def clip(g):
    x = g.pick(REALS + SIGNED + UNSIGNED)
    low = g.constant(np.array(1 if x.dtype in UNSIGNED else -1, x.dtype)) if g.r.random() < 0.8 else ""
    high = g.constant(np.array(3, x.dtype)) if g.r.random() < 0.8 else ""
    g.add("Clip", [x, low, high] if high else [x, low] if low else [x], [(x.dtype, x.shape, x.exact)])


def whole_numbers(g):
    op = g.r.choice(("Mod", "Div", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"))
    if op == "BitShift":
        x = g.pick((np.uint8, np.uint32, np.uint64))
        g.add(op, [x, g.constant(np.array(2, x.dtype))], [(x.dtype, x.shape, True)], direction=g.r.choice(("LEFT", "RIGHT")))
        return
    x = g.pick(SIGNED)
    if op == "BitwiseNot":
        g.add(op, [x], [(x.dtype, x.shape, True)])
    elif op in ("Mod", "Div"):
        by = g.constant(np.array(g.r.choice((-3, 2, 5)), x.dtype))
        g.add(op, [x, by], [(x.dtype, x.shape, x.exact)], **({"fmod": g.r.randint(0, 1)} if op == "Mod" else {}))
    else:
        y = g.partner(x)
        g.add(op, [x, y], [(x.dtype, broadcast(x.shape, y.shape), True)])


def cast(g):
    """Casts of small numbers only: what does not fit is left open by the standard."""
    x = g.pick(ANY + (BF16,), exact=True)
    to = g.r.choice(ANY + (BF16,) + ((TEXT,) if x.dtype in SIGNED + UNSIGNED else ()))
    if not forms.gives("Cast", g.opset, to):
        raise Unfit
    if to in UNSIGNED and x.dtype not in UNSIGNED + (np.bool_,):
        x = g.add("Abs", [x], [(x.dtype, x.shape, True)])
    g.add("Cast", [x], [(to, x.shape, True)], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def narrow(g):
    """There and back through a short float: the value is rounded in the middle."""
    x = g.pick((np.float32,), exact=True)
    short = g.r.choice((TensorProto.FLOAT16,) + (TensorProto.BFLOAT16,) * (g.opset >= 13) + (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2) * (g.opset >= 19))
    name = g.fresh("v")
    g.nodes.append(helper.make_node("Cast", [x.name], [name], name=g.fresh("cast"), to=short))
    g.add("Cast", [name], [(x.dtype, x.shape, True)], to=TensorProto.FLOAT)


def quantise(g):
    x = g.pick((np.float32,), exact=True)
    kind = g.r.choice((np.int8, np.uint8))
    scale, zero = g.constant(np.array(0.25, np.float32)), g.constant(np.array(3, kind))
    q = g.add("QuantizeLinear", [x, scale, zero], [(kind, x.shape, True)])
    if g.r.random() < 0.7:
        g.add("DequantizeLinear", [q, scale, zero], [(np.float32, x.shape, True)])


ROWS = [(smooth, 4), (exact_unary, 2), (jumping, 1), (guarded, 2), (arithmetic, 5), (several, 2), (compare, 2), (logic, 1), (where, 2),
        (clip, 1), (whole_numbers, 1), (cast, 2), (narrow, 1), (quantise, 1)]
