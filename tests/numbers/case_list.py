"""The list that modules of rules fill: a node, its operands and what it has to give, by type and form."""
import dataclasses

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype(np.float16), BFLOAT16, np.dtype(np.float32), np.dtype(np.float64))
SIGNED = tuple(np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
UNSIGNED = tuple(np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
INTEGERS = SIGNED + UNSIGNED
WIDE_INTEGERS = tuple(t for t in INTEGERS if t.itemsize >= 4)
FORMS = ("alone", "inside", "folded", "open")


@dataclasses.dataclass
class Case:
    """`inputs` may hold None for an operand left out; those of `fixed` are constants in every form. `zeros`: the sign of a zero counts.
    `near`: relative distance allowed, where a rule is about something else than rounding."""
    op: str
    label: str
    inputs: list
    outputs: list
    attributes: dict
    fixed: tuple
    zeros: bool
    near: float
    forms: tuple
    domain: str


RULES = {}


def rule(name, op, inputs, outputs, label="", fixed=(), zeros=False, near=0.0, forms=FORMS, domain="", **attributes):
    """Adds a case to the rule `name`, of which every operator makes a model."""
    cases = RULES.setdefault((name, op), [])
    cases.append(Case(op, label or next(v for v in inputs if v is not None).dtype.name, inputs, outputs, attributes, fixed, zeros, near, forms, domain))


def is_float(dtype):
    return dtype in FLOATS


def integers(dtype):
    """Extremes of a type, and what lies around zero."""
    info = np.iinfo(dtype)
    found = {info.min, info.min + 1, -100, -7, -3, -2, -1, 0, 1, 2, 3, 7, 100, info.max // 3, info.max - 1, info.max}
    return np.array(sorted(v for v in found if v >= info.min), dtype)


def floats(dtype):
    """What is no number, both zeros, extremes of a type, halves."""
    info = ml_dtypes.finfo(dtype)
    large, least = float(info.max), float(info.smallest_subnormal)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -2.5, 3, -7, large, -large, least, -least, float(info.tiny)], np.float64).astype(dtype)


def pairs(values):
    """Two flat arrays that hold each pair of values."""
    return np.repeat(values, len(values)), np.tile(values, len(values))


def sprinkled(seed, dtype, shape, special, part):
    """Whole numbers 1 to 3, of which `part` are replaced by the special values in turn."""
    random = np.random.default_rng(seed)
    x = random.integers(1, 4, shape).astype(np.float64)
    where = random.random(shape) < part
    x[where] = np.resize(np.array(special, np.float64), int(where.sum()))
    return x.astype(dtype)
