"""A random ONNX graph while it grows: values with their types and shapes, nodes, constants, local functions.

Shapes are solved forwards: every row of the operator tables picks operands that fit from the pool and says what comes out.
`exact` values went through no rounding, so that what jumps (floor, comparisons, casts to integers) may be done to them.
"""
import dataclasses
import random

import ml_dtypes
import numpy as np
from onnx import helper, numpy_helper

import forms
from forms import Unfit

BF16, TEXT = ml_dtypes.bfloat16, np.object_
FLOATS = (np.float32, np.float64, np.float16)
REALS = FLOATS + (BF16,)
SIGNED = (np.int64, np.int32, np.int8, np.int16)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
ANY = FLOATS + SIGNED + UNSIGNED + (np.bool_,)
EVERY = ANY + (BF16, TEXT, np.complex64, np.complex128)
WORDS = ("", "a", "b", "one two", "Ünï", "x" * 40, "\n", "0", "A")
LOCAL = "castnet.random"  # the domain of local functions
MOST_ELEMENTS = 16384
SMALL, WIDE = (1, 2, 3, 4, 5, 6, 7, 2, 3, 4), (1, 3, 8, 9, 16, 17, 31, 33)  # sizes of axes: few elements, or more than a vector


def tensor(array, name):
    return helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, [str(v).encode() for v in array.reshape(-1)]) \
        if array.dtype == object else numpy_helper.from_array(array, name)


@dataclasses.dataclass
class Value:
    name: str
    dtype: type
    shape: tuple
    exact: bool = True
    static: bool = False  # an input whose sizes are declared as numbers

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))


@dataclasses.dataclass
class Seq:
    """A sequence, or an optional of a tensor, whose items have the same rank."""
    name: str
    dtype: type
    shapes: list
    rank: int
    exact: bool = True
    wrapper: str = "seq({})"


class Graph:
    def __init__(self, seed, opset):
        self.r, self.opset = random.Random(seed), opset
        self.open = self.r.random() < 0.4  # some sizes of inputs are declared as symbols
        self.symbolic = self.open  # some sizes are not known before the call
        self.sizes = WIDE if self.r.random() < 0.25 else SMALL
        self.np = np.random.default_rng(seed)
        self.pool, self.inputs, self.nodes, self.constants, self.functions = [], [], [], [], []
        self.seqs, self.options, self.known = [], [], {}
        self.data, self.count, self.depth = [], 0, 0

    # ---- names, constants, inputs ----
    def fresh(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def constant(self, array):
        """An operand that the model knows; at times an input of the graph instead, so that only data know it."""
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        if self.r.random() < 0.1:
            return self.input(array, static=True).name
        name = self.fresh("c")
        if self.r.random() < 0.3 and forms.gives("Constant", self.opset, array.dtype):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor(array, "")))
        else:
            self.constants.append(tensor(array, name))
        self.known[name] = array
        return name

    def fixed(self, array):
        """An operand that has to be a constant for shapes to be known."""
        name = self.fresh("c")
        self.constants.append(tensor(np.asarray(array), name))
        self.known[name] = np.asarray(array)
        return name

    def told(self, array):
        """An operand whose content the generator knows and castnet, mostly, does not: an input of the outermost graph."""
        return self.input(np.asarray(array), static=True).name if self.r.random() < 0.7 else self.constant(np.asarray(array))

    def input(self, array, static=False):
        value = Value(self.fresh("x"), array.dtype.type, array.shape, static=static)
        self.inputs.append(value)
        self.data.append(array)
        return value

    def draw(self, dtype, shape):
        """Data of a type: eighths from -2 to 2, small integers, coin flips, words."""
        if dtype in REALS:
            return np.asarray(self.np.integers(-16, 17, shape) / 8, dtype=dtype)
        if dtype is TEXT:
            return np.array([WORDS[k] for k in self.np.integers(0, len(WORDS), int(np.prod(shape)))], dtype=object).reshape(shape)
        if dtype in (np.complex64, np.complex128):
            return np.asarray(self.np.integers(-16, 17, shape) / 8 + 1j * self.np.integers(-16, 17, shape), dtype=dtype)
        if dtype is np.bool_:
            return np.asarray(self.np.integers(0, 2, shape), dtype=bool)
        low = -5 if dtype in SIGNED else 0
        return np.asarray(self.np.integers(low, 6, shape), dtype=dtype)

    def shape(self, low=0, high=4):
        return tuple(self.r.choice(self.sizes) if self.r.random() < 0.97 else 0 for _ in range(self.r.randint(low, high)))

    # ---- choosing ----
    def pick(self, dtypes=ANY, low=0, high=6, exact=False, test=None):
        fits = [v for v in self.pool if v.dtype in dtypes and low <= v.rank <= high and (v.exact or not exact) and (not test or test(v))]
        if not fits:
            raise Unfit
        return self.r.choice(fits[-6:] if self.r.random() < 0.7 else fits)

    def partner(self, value):
        """An operand of the same type that broadcasts with a value: one of the pool's, or new."""
        fits = [v for v in self.pool if v.dtype is value.dtype and broadcast(v.shape, value.shape) is not None]
        if fits and self.r.random() < 0.6:
            return self.r.choice(fits)
        shape = [n if self.r.random() < 0.7 else 1 for n in value.shape]
        shape = shape[self.r.randint(0, len(shape)):]
        array = self.draw(value.dtype, tuple(shape))
        if self.r.random() < 0.5:
            return self.input(array)
        return Value(self.constant(array), value.dtype, array.shape)

    def cut(self, before, after):
        """A size after cutting. What is 1 only for these sizes broadcasts only for these: no general code is right about it."""
        if self.symbolic and after == 1 and before != 1:
            raise Unfit
        return after

    def loose(self, n):
        """A size that only data tell: as cut() has it."""
        self.symbolic = True
        if n == 1:
            raise Unfit

    def axis(self, value, negative=True):
        if value.rank == 0:
            raise Unfit
        axis = self.r.randrange(value.rank)
        return axis, (axis - value.rank if negative and self.opset >= forms.FROM_THE_END and self.r.random() < 0.3 else axis)

    def flag(self):
        """(operand, truth) of a condition that the generator knows."""
        truth = self.r.random() < 0.5
        if self.r.random() < 0.5 or self.opset < 9:
            return self.told(np.array(truth)), truth
        least = self.r.randint(-3, 3)
        number = self.told(np.array(least + (-1 if truth else self.r.randint(0, 1)), np.int64))
        return self.add("Less", [number, self.fixed(np.array(least, np.int64))], [(np.bool_, (), True)]), truth

    # ---- growing ----
    def node(self, op, inputs, n_outputs, domain="", **attributes):
        """A node in the form of this opset; returns the names of what it gives."""
        names = [i if isinstance(i, str) else i.name for i in inputs]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        if domain == "":
            for place, operand in enumerate(inputs):
                wrapper = getattr(operand, "wrapper", "")
                if not isinstance(operand, str) and not forms.allows(op, self.opset, place, operand.dtype, wrapper):
                    raise Unfit
            names, attributes = forms.at_opset(op, names, attributes, self.opset, self.known)
        outputs = [self.fresh("v") for _ in range(n_outputs)]
        self.nodes.append(helper.make_node(op, names, outputs, name=self.fresh(op.lower()), domain=domain, **attributes))
        return outputs

    def add(self, op, inputs, results, domain="", **attributes):
        """A node; `results` are (dtype, shape, exact), all of which join the pool. Returns the first one's Value."""
        if any(np.prod(shape, dtype=np.int64) > MOST_ELEMENTS for _, shape, _ in results):
            raise Unfit
        if self.opset < 8 and op in forms.OLD_BROADCAST and len({i.shape for i in inputs if isinstance(i, Value)}) > 1:
            raise Unfit
        names = self.node(op, inputs, len(results), domain, **attributes)
        outputs = [Value(name, dtype, tuple(int(n) for n in shape), exact) for name, (dtype, shape, exact) in zip(names, results)]
        self.pool += outputs
        return outputs[0]

    def mark(self):
        return [len(part) for part in (self.nodes, self.pool, self.constants, self.functions, self.seqs, self.options)]

    def back_to(self, mark):
        for part, n in zip((self.nodes, self.pool, self.constants, self.functions, self.seqs, self.options), mark):
            del part[n:]


def broadcast(a, b):
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None
