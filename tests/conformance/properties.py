#!/usr/bin/env python3
"""Judge random operators by what their results have to look like, since no recorded output can be compared.

  properties.py --castnet build/compiler/castnet [--cases DIR]

Each model is compiled, run twice by `castnet run`, and its outputs are held to bounds that a right generator leaves less
than once in a million seeds; both runs have to give the same, and another seed something else. With --cases so are the
official cases of random_cases.txt. Operators that castnet refuses as unsupported are skipped.
"""
import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parent / "hostile")]
import harness  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from crafted import BOOL, F32, F64, I32, constant, model, node, to_bytes, value  # noqa: E402

N = 40000
SIGMAS = 5.5


def mean_within(values, mean, deviation):
    """None, or how far the mean of independent values is off."""
    off = abs(float(np.mean(values, dtype=np.float64)) - mean)
    allowed = SIGMAS * deviation / np.sqrt(values.size)
    return None if off <= allowed else f"mean is off by {off:.4g}, allowed {allowed:.4g}"


def uniform(low, high):
    def judge(outputs, _):
        y = outputs[0].astype(np.float64)
        if y.min() < low or y.max() > high or np.unique(y).size < y.size // 4:
            return f"values from {y.min()} to {y.max()}, {np.unique(y).size} different"
        spread = (high - low) / np.sqrt(12)
        return mean_within(y, (low + high) / 2, spread) or mean_within((y - (low + high) / 2) ** 2, spread ** 2, spread ** 2)
    return judge


def normal(mean, scale):
    def judge(outputs, _):
        y = (outputs[0].astype(np.float64) - mean) / scale
        return mean_within(y, 0, 1) or mean_within(y ** 2, 1, np.sqrt(2)) or mean_within(y ** 3, 0, np.sqrt(15)) \
            or mean_within(np.abs(y) < 1, 0.682689, 0.4655)
    return judge


def bernoulli(outputs, inputs):
    y, p = outputs[0].astype(np.float64), inputs[0].astype(np.float64)
    if not np.isin(y, (0, 1)).all():
        return "values that are neither 0 nor 1"
    if (y[p == 0] != 0).any() or (y[p == 1] != 1).any():
        return "a certain event did not happen, or an impossible one did"
    return mean_within(y - p, 0, 0.5)


def dropout(ratio):
    def judge(outputs, inputs):
        x, y = inputs[0], outputs[0]
        mask = outputs[1].astype(bool) if len(outputs) > 1 else y != 0
        kept = (x / np.float32(1 - ratio)).astype(np.float32)
        if not np.allclose(y[mask], kept[mask], rtol=1e-6) or (y[~mask] != 0).any():
            return "values are neither dropped nor scaled as the mask says"
        return mean_within(mask, 1 - ratio, np.sqrt(ratio * (1 - ratio)))
    return judge


def multinomial(outputs, inputs):
    weights = np.exp(inputs[0].astype(np.float64))
    weights /= weights.sum(axis=1, keepdims=True)
    for row, p in zip(outputs[0], weights):
        if row.min() < 0 or row.max() >= p.size:
            return "a class that does not exist"
        for k in range(p.size):
            wrong = mean_within(row == k, p[k], np.sqrt(p[k] * (1 - p[k])))
            if wrong:
                return f"class {k}: {wrong}"
    return None


def x_and(outputs):
    return dict(inputs=[value("x", F32, (N,))], outputs=outputs)


def trials():
    """(name, model, inputs, judge)"""
    y = [value("y", F32, (N,))]
    p = np.concatenate([np.zeros(100), np.ones(100), np.linspace(0, 1, N - 200)]).astype(np.float32)
    x = np.linspace(1, 2, N, dtype=np.float32)
    yield "RandomUniform", model([node("RandomUniform", [], ["y"], shape=[N], low=-2.0, high=5.0)], [], y), [], uniform(-2, 5)
    yield "RandomUniform_seed", model([node("RandomUniform", [], ["y"], shape=[N], seed=3.0)], [], y), [], uniform(0, 1)
    yield "RandomUniformLike", model([node("RandomUniformLike", ["x"], ["y"], low=1.0, high=3.0)], **x_and(y)), [x], uniform(1, 3)
    yield "RandomNormal", model([node("RandomNormal", [], ["y"], shape=[N], mean=2.0, scale=3.0)], [], y), [], normal(2, 3)
    yield "RandomNormalLike", model([node("RandomNormalLike", ["x"], ["y"])], **x_and(y)), [x], normal(0, 1)
    yield "RandomNormal_f64", model([node("RandomNormal", [], ["y"], shape=[N], dtype=F64)], [], [value("y", F64, (N,))]), \
        [], normal(0, 1)
    yield "Bernoulli", model([node("Bernoulli", ["x"], ["y"])], **x_and(y)), [p], bernoulli
    mask = [*y, value("m", BOOL, (N,))]
    yield "Dropout_training", model([node("Dropout", ["x", "r", "t"], ["y", "m"])], **x_and(mask), initializers=[
        constant("r", 0.3, np.float32), constant("t", True)]), [x], dropout(0.3)
    logits = np.log(np.float32([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]))
    yield "Multinomial", model([node("Multinomial", ["x"], ["y"], sample_size=N)], [value("x", F32, (2, 3))],
                               [value("y", I32, (2, N))]), [logits], multinomial


def official(cases):
    """The suite's random cases as trials."""
    for line in (HERE / "random_cases.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        folder = Path(cases) / line.split("\t")[0]
        built = onnx.load(folder / "model.onnx")
        files = [folder / "test_data_set_0" / f"input_{k}.pb" for k in range(len(built.graph.input))]
        inputs = {i.name: numpy_helper.to_array(onnx.load_tensor(f)) for i, f in zip(built.graph.input, files)}
        judge = bernoulli
        if "dropout" in folder.name:
            names = built.graph.node[0].input
            judge = dropout(float(inputs[names[1]]) if len(names) > 1 and names[1] else 0.5)
        yield folder.name, built, list(inputs.values()), judge


def reseeded(built):
    """The model with other seeds; None where it has none of its own."""
    other, found = onnx.ModelProto.FromString(to_bytes(built)), False
    for one in other.graph.node:
        for attribute in one.attribute:
            if attribute.name == "seed":
                attribute.f, attribute.i, found = attribute.f + 1, attribute.i + 1, True
    return other if found else None


def run(castnet, cc, built, inputs):
    """The outputs; or what is wrong, None where it is not supported."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "model.onnx").write_bytes(to_bytes(built))
        command = [castnet, "run", "model.onnx", "--output-dir", ".", "--cc", cc]
        for info, array in zip(built.graph.input, inputs):
            np.save(folder / f"{info.name}.in.npy", array)
            command += ["--input", f"{info.name}={info.name}.in.npy"]
        outcome = harness.run(command, 60, cwd=folder)
        codes = set(harness.DIAGNOSTIC.findall(outcome.err))
        if outcome.status == harness.EXIT_REFUSED and codes and codes <= harness.UNSUPPORTED:
            return None
        if outcome.status:
            return f"exit {outcome.status}: {outcome.err.strip()[:300]}"
        return [np.load(folder / f"{info.name}.npy") for info in built.graph.output]


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b))


def attempt(castnet, cc, trial):
    """None when unsupported, else "" or what is wrong."""
    _, built, inputs, judge = trial
    outputs = run(castnet, cc, built, inputs)
    if not isinstance(outputs, list):
        return outputs
    for info, array in zip(built.graph.output, outputs):
        if list(array.shape) != [d.dim_value for d in info.type.tensor_type.shape.dim]:
            return f"shape of {info.name}: {array.shape}"
    again, other = run(castnet, cc, built, inputs), reseeded(built)
    if not isinstance(again, list) or not same(outputs, again):
        return "another run with the same seeds gives something else"
    different = run(castnet, cc, other, inputs) if other else None
    if different and (not isinstance(different, list) or (same(outputs, different) and outputs[0].size > 8)):
        return "another seed gives the same"
    return judge(outputs, inputs) or ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--cases", help="folder of the official cases")
    parser.add_argument("--cc", default="gcc")
    options = parser.parse_args()
    castnet = harness.castnet_path(options.castnet)
    found = {trial[0]: attempt(castnet, options.cc, trial) for trial in
             [*trials(), *(official(options.cases) if options.cases else [])]}
    for name, wrong in found.items():
        if wrong:
            print(f"FAIL {name}: {wrong}")
    skipped = [name for name, wrong in found.items() if wrong is None]
    if skipped:
        print(f"not supported yet: {' '.join(skipped)}")
    failed = sum(1 for wrong in found.values() if wrong)
    return harness.totals(len(found) - failed - len(skipped), failed, len(skipped))


if __name__ == "__main__":
    sys.exit(main())
