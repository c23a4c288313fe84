"""RNN, GRU and LSTM with all that their attributes allow, in float and double, against a transcription of their text in NumPy."""
import json

import numpy as np
import onnx
from onnx import helper

import make_cases as suite
import make_version_cases as versions

COUNT = 48
NEAR = {np.float32: 1e-5, np.float64: 1e-13}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
# (whether it takes alpha, whether beta, the function)
ACTIVATIONS = {
    "Sigmoid": (0, 0, lambda x, a, b: 1 / (1 + np.exp(-x))), "Tanh": (0, 0, lambda x, a, b: np.tanh(x)), "Relu": (0, 0, lambda x, a, b: np.maximum(x, 0)),
    "Affine": (1, 1, lambda x, a, b: a * x + b), "LeakyRelu": (1, 0, lambda x, a, b: np.where(x < 0, a * x, x)),
    "ThresholdedRelu": (1, 0, lambda x, a, b: np.where(x > a, x, 0)), "ScaledTanh": (1, 1, lambda x, a, b: a * np.tanh(b * x)),
    "HardSigmoid": (1, 1, lambda x, a, b: np.clip(a * x + b, 0, 1)), "Elu": (1, 0, lambda x, a, b: np.where(x > 0, x, a * np.expm1(x))),
    "Softsign": (0, 0, lambda x, a, b: x / (1 + np.abs(x))), "Softplus": (0, 0, lambda x, a, b: np.log1p(np.exp(x)))}
X, W, R, B, LENS, H0, C0, P = range(8)


class Layer:
    """One drawn layer: operands in layout 0, attributes."""

    def __init__(self, rng, op, dtype):
        self.op, self.dtype, self.rng = op, dtype, rng
        steps, batch, size, hidden = (int(v) for v in rng.integers(1, 6, 4))
        steps *= rng.random() > 0.1
        self.direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
        self.n_dirs = 1 + (self.direction == "bidirectional")
        n, gates = self.n_dirs, GATES[op] * hidden
        self.inputs = [self.draw(steps, batch, size), self.draw(n, gates, size), self.draw(n, gates, hidden), self.maybe(n, 2 * gates),
                       rng.integers(0, steps + 1, batch).astype(np.int32) if rng.random() < 0.6 else None, self.maybe(n, batch, hidden)]
        self.inputs += [self.maybe(n, batch, hidden), self.maybe(n, 3 * hidden)] if op == "LSTM" else [None, None]
        self.clip = float(np.float32(rng.uniform(0.2, 1))) if rng.random() < 0.4 else 0.0
        self.special = bool(rng.random() < 0.5)  # linear_before_reset, input_forget
        self.layout = int(rng.random() < 0.4)
        self.acts = [(name, 0.0, 0.0) for _ in range(n) for name in DEFAULTS[op]]
        self.named = bool(rng.random() < 0.5)
        if self.named:
            self.acts = [(str(rng.choice(list(ACTIVATIONS))), *(float(np.float32(v)) for v in rng.uniform(0.1, 1, 2))) for _ in self.acts]

    def draw(self, *shape):
        return self.rng.uniform(-1, 1, shape).astype(self.dtype)

    def maybe(self, *shape):
        return self.draw(*shape) if self.rng.random() < 0.6 else None

    def node(self):
        given = [f"x{k}" if v is not None else "" for k, v in enumerate(self.inputs)]
        while not given[-1]:
            given.pop()
        attributes = {"hidden_size": self.inputs[R].shape[2], "direction": self.direction}
        if self.named:
            attributes["activations"] = [name for name, _, _ in self.acts]
            for k, word in ((0, "activation_alpha"), (1, "activation_beta")):
                values = [act[1 + k] for act in self.acts if ACTIVATIONS[act[0]][k]]
                attributes.update({word: values} if values else {})
        attributes.update({"clip": self.clip} if self.clip else {})
        attributes.update({"layout": 1} if self.layout else {})
        if self.op != "RNN" and self.special:
            attributes["linear_before_reset" if self.op == "GRU" else "input_forget"] = 1
        return helper.make_node(self.op, given, ["y0", "y1", "y2"][:2 + (self.op == "LSTM")], **attributes)

    def results(self):
        """Y, Y_h and perhaps Y_c, in layout 0."""
        steps, batch, _ = self.inputs[X].shape
        hidden = self.inputs[R].shape[2]
        y, last = np.zeros((steps, self.n_dirs, batch, hidden)), np.zeros((2, self.n_dirs, batch, hidden))
        for d in range(self.n_dirs):
            cell = Cell(self, d)
            back = self.direction == "reverse" or d == 1
            for n in range(batch):
                length = steps if self.inputs[LENS] is None else self.inputs[LENS][n]
                state = [np.zeros(hidden) if self.inputs[k] is None else self.inputs[k][d, n].astype(np.float64) for k in (H0, C0)]
                for t in sorted(range(length), reverse=back):
                    state = cell.step(self.inputs[X][t, n].astype(np.float64), *state)
                    y[t, d, n] = state[0]
                last[0, d, n], last[1, d, n] = state
        return [v.astype(self.dtype) for v in (y, *last)][:2 + (self.op == "LSTM")]

    def in_layout(self, values, places, axes):
        return [v.transpose(axes) if self.layout and v is not None and k in places else v for k, v in enumerate(values)]


class Cell:
    """One direction's weights, in double."""

    def __init__(self, layer, d):
        self.layer, self.hidden = layer, layer.inputs[R].shape[2]
        wide = [None if v is None else v[d].astype(np.float64) for v in (layer.inputs[W], layer.inputs[R], layer.inputs[B], layer.inputs[P])]
        self.w, self.r = wide[:2]
        both = wide[2] if wide[2] is not None else np.zeros(2 * len(self.w))
        self.wb, self.rb = both[:len(self.w)], both[len(self.w):]
        self.p = wide[3] if wide[3] is not None else np.zeros(3 * self.hidden)
        n = len(DEFAULTS[layer.op])
        self.acts = layer.acts[d * n:(d + 1) * n]

    def act(self, k, x, clipped=True):
        name, alpha, beta = self.acts[k]
        clip = self.layer.clip
        return ACTIVATIONS[name][2](np.clip(x, -clip, clip) if clip and clipped else x, alpha, beta)

    def step(self, x, h, c):
        n, from_x = self.hidden, self.w @ x + self.wb
        if self.layer.op == "RNN":
            return [self.act(0, from_x + self.r @ h + self.rb), c]
        if self.layer.op == "GRU":
            z, r = np.split(self.act(0, from_x[:2 * n] + self.r[:2 * n] @ h + self.rb[:2 * n]), 2)
            past = r * (self.r[2 * n:] @ h + self.rb[2 * n:]) if self.layer.special else self.r[2 * n:] @ (r * h) + self.rb[2 * n:]
            return [(1 - z) * self.act(1, from_x[2 * n:] + past) + z * h, c]
        i, o, f, g = np.split(from_x + self.r @ h + self.rb, 4)
        i = self.act(0, i + self.p[:n] * c)
        f = 1 - i if self.layer.special else self.act(0, f + self.p[2 * n:] * c)
        c = f * c + i * self.act(1, g)
        return [self.act(0, o + self.p[n:2 * n] * c) * self.act(2, c, clipped=False), c]


def write_one(folder, layer):
    inputs = layer.in_layout(layer.inputs, (X, H0, C0), (1, 0, 2))
    first, *states = layer.results()
    outputs = [first.transpose(2, 0, 1, 3) if layer.layout else first, *layer.in_layout(states, (0, 1), (1, 0, 2))]
    constant = [k for k in (W, R, B, P) if inputs[k] is not None] if layer.rng.random() < 0.5 else []
    free = [(f"x{k}", v) for k, v in enumerate(inputs) if v is not None and k not in constant]
    described = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for name, v in free]
    after = [helper.make_tensor_value_info(f"y{k}", helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in enumerate(outputs)]
    graph = helper.make_graph([layer.node()], folder.name, described, after, [onnx.numpy_helper.from_array(inputs[k], f"x{k}") for k in constant])
    folder.mkdir(parents=True)
    suite.write_message(folder / "model.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8, producer_name="castnet-tests"))
    versions.write_data_set(folder / "test_data_set_0", graph, [v for _, v in free], outputs)
    return [o.name for o in after]


def write(out):
    """Cases under `out` in the suite's layout."""
    rng, index = np.random.default_rng(1), []
    for k in range(COUNT):
        op, dtype = list(GATES)[k % 3], (np.float64, np.float64, np.float32)[k // 3 % 3]
        name = f"{op.lower()}_{np.dtype(dtype).name}_{k}"
        outputs = write_one(out / "recurrent" / name, Layer(rng, op, dtype))
        index.append({"kind": "recurrent", "name": name, "rtol": 0.0, "atol": 0.0, "outputs": {o: {"rtol": NEAR[dtype], "atol": NEAR[dtype]} for o in outputs}, "op": op, "ops": [op]})
    (out / "index.json").write_text(json.dumps(index, indent=0) + "\n")
