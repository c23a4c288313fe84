"""The list that modules of cases fill: a graph in ONNX's text form, and the inputs of its calls."""
import numpy as np

HEAD = '<ir_version: {ir}, opset_import: [{imports}]>\n'
GRAPHS = {}


class Case:
    """`expect`: a function of a call's inputs that gives its outputs, where no oracle runs the model; `change`: what text cannot say, done to the model."""

    def __init__(self, text, calls, opset, ir, domains, expect, change):
        imports = ", ".join(f'"{domain}" : {version}' for domain, version in [("", opset), *domains.items()])
        self.text, self.calls, self.expect, self.change = HEAD.format(ir=ir, imports=imports) + text.strip(), calls, expect, change


def graph(name, text, *calls, opset=17, ir=8, domains=None, expect=None, change=None):
    if name in GRAPHS:
        raise ValueError(f"two cases are named {name}")
    GRAPHS[name] = Case(text, calls, opset, ir, domains or {}, expect, change)


def f32(*values):
    return np.array(values[0] if len(values) == 1 else values, np.float32)


def s64(value):
    return np.array(value, np.int64)


def flag(value):
    return np.array(value, bool)


def random(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)
