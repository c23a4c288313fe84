#!/usr/bin/env python3
"""Train estimators of scikit-learn, XGBoost and LightGBM, convert them, and write cases whose outputs are the libraries' own.

  make_estimators.py -o DIR

The layout is that of the conformance suite, so that tests/conformance/run.py runs them; DIR/not_converted.txt says what a
converter could not do.
"""
import argparse
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
from onnx import numpy_helper
from skl2onnx import convert_sklearn, update_registered_converter
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes as classifier_shapes
from skl2onnx.common.shape_calculator import calculate_linear_regressor_output_shapes as regressor_shapes

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "versions")]
import estimators as E  # noqa: E402
import oracles  # noqa: E402

N, FEATURES, SHOWN = 160, 5, 24
OPSETS = {"": 18, "ai.onnx.ml": 3}


def register_boosters():
    """How skl2onnx is told of the converters of onnxmltools."""
    from lightgbm import LGBMClassifier, LGBMRegressor
    from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
    from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
    from xgboost import XGBClassifier, XGBRegressor
    choices = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
    update_registered_converter(XGBClassifier, "XGBClassifier", classifier_shapes, convert_xgboost, options=choices)
    update_registered_converter(XGBRegressor, "XGBRegressor", regressor_shapes, convert_xgboost)
    update_registered_converter(LGBMClassifier, "LGBMClassifier", classifier_shapes, convert_lightgbm, options=choices)
    update_registered_converter(LGBMRegressor, "LGBMRegressor", regressor_shapes, convert_lightgbm, options={"split": None})


def material(target):
    """(X, y) of a kind of task. Numbers are float32 from the start: so the library sees what generated code sees."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(N, FEATURES)).astype(np.float32)
    line = x @ np.array([1.0, -2.0, 0.5, 0.0, 1.5]) + 0.5 * x[:, 0] * x[:, 1]
    if target == E.COUNTS:
        x = rng.integers(0, 6, (N, FEATURES)).astype(np.float32)
        return x, (x[:, 0] > x[:, 1]).astype(np.int64)
    if target == E.HOLES:
        x[rng.random(x.shape) < 0.2] = np.nan
    if target == E.CATEGORIES:
        return np.array([["red", "green", "blue"], ["small", "large", "huge"]], dtype=object)[[[0, 1]], rng.integers(0, 3, (N, 2))], None
    y = {E.REGRESSION: line + rng.normal(size=N) * 0.1, E.POSITIVE: np.exp(line / 4), E.BINARY: (line > 0).astype(np.int64)}.get(target)
    if target in (E.CLASSES, E.WORDS):
        y = np.digitize(line, [-1.5, 1.5])
        y = np.array(["low", "middle", "high"])[y] if target == E.WORDS else y
    return x, y


def clear(probabilities):
    """Rows where the best class is best by far: elsewhere rounding decides the label."""
    best = np.sort(probabilities, axis=1)
    return best[:, -1] - best[:, -2] > 1e-3


def results(model, x, names):
    """(rows of x shown, the library's outputs in the order of the converted model's)."""
    if "probabilities" in names or len(names) == 2 and hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(x)
        keep = clear(probabilities)
        labels = model.predict(x)[keep]
        labels = labels.astype(object) if labels.dtype.kind in "UO" else labels.astype(np.int64)
        return x[keep], [labels, probabilities[keep].astype(np.float32)]
    if len(names) == 2 and hasattr(model, "score_samples"):  # outliers: label and distance
        scores = model.decision_function(x)
        keep = np.abs(scores) > 1e-3
        return x[keep], [model.predict(x)[keep].reshape(-1, 1).astype(np.int64), scores[keep].reshape(-1, 1).astype(np.float32)]
    if len(names) == 2:  # clusters: label and distances
        return x, [model.predict(x).astype(np.int64), model.transform(x).astype(np.float32)]
    made = model.predict(x) if hasattr(model, "predict") else model.transform(x)
    return x, [np.asarray(made, dtype=np.float32).reshape(len(x), -1)]


def convert(model, target):
    kind = StringTensorType([None, 2]) if target == E.CATEGORIES else FloatTensorType([None, FEATURES])
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") and not hasattr(model, "means_init") else None
    return convert_sklearn(model, initial_types=[("X", kind)], target_opset=OPSETS, options=options)


def agreed(onx, shown, outputs):
    """The library's outputs in the shapes that the converter chose; None where ONNX Runtime disagrees with the library too: then
    the conversion is wrong."""
    made, why = oracles.attempt(oracles.runtime, onx, [shown])
    if made is None or any(a.size != np.size(b) for a, b in zip(made, outputs, strict=True)):
        return None
    outputs = [np.asarray(b).reshape(a.shape) for a, b in zip(made, outputs)]
    same = all(np.allclose(a, b, rtol=1e-2, atol=1e-3) if b.dtype.kind == "f" else (a == b).all() for a, b in zip(made, outputs))
    return outputs if same else None


def write(folder, onx, x, outputs):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(onx.SerializeToString(deterministic=True))
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(x, "X").SerializeToString(deterministic=True))
    for i, (info, value) in enumerate(zip(onx.graph.output, outputs, strict=True)):
        (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(value, info.name).SerializeToString(deterministic=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, type=Path)
    out = parser.parse_args().output
    warnings.filterwarnings("ignore")
    shutil.rmtree(out / "estimators", ignore_errors=True)
    register_boosters()
    index, left = [], []
    for name, maker, target in E.REGRESSORS + E.CLASSIFIERS + E.TRANSFORMERS + E.MIXTURES:
        x, y = material(target)
        try:
            model = maker().fit(x, y) if y is not None else maker().fit(x)
            onx = convert(model, target)
        except Exception as error:  # converters raise what they like: what they cannot do is listed, not tested
            left.append(f"{name}\t{type(error).__name__}: {str(error).splitlines()[0][:150]}")
            continue
        shown, outputs = results(model, x[:SHOWN], [o.name for o in onx.graph.output])
        outputs = agreed(onx, shown, outputs)
        if outputs is None:
            left.append(f"{name}\tconverted wrongly: ONNX Runtime disagrees with the library as well")
            continue
        write(out / "estimators" / name, onx, shown, outputs)
        ops = sorted({node.op_type for node in onx.graph.node})
        largest = max([1.0] + [float(np.nanmax(np.abs(o))) for o in outputs if o.dtype == np.float32 and o.size])
        index.append({"kind": "estimators", "name": name, "rtol": 1e-3, "atol": 1e-4 * largest, "op": type(model).__name__, "ops": ops})
    (out / "index.json").write_text(json.dumps(index, indent=0) + "\n")
    (out / "not_converted.txt").write_text("".join(line + "\n" for line in left))
    print("\n".join(f"  not converted: {line}" for line in left))
    print(f"{len(index)} estimators in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
