"""Judges that are not castnet: ONNX Runtime without its optimisations, and onnx's reference evaluation."""
import contextlib
import os
import sys
import threading

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator


def feed(model, inputs):
    names = [info.name for info in model.graph.input]
    return {name: value for name, value in zip(names, inputs) if value is not None}


def runtime(model, inputs, seconds=None):
    """Outputs by ONNX Runtime, every optimisation off; what runs longer than this is ended with an exception."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    how = onnxruntime.RunOptions()
    end = threading.Timer(seconds, setattr, (how, "terminate", True)) if seconds else None
    if end:
        end.start()
    try:
        return session.run(None, feed(model, inputs), how)
    finally:
        if end:
            end.cancel()


def reference(model, inputs):
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        results = ReferenceEvaluator(model).run(None, feed(model, inputs))
    if not all(isinstance(r, (np.ndarray, np.generic)) for r in results):
        raise TypeError("not a tensor")
    return [np.asarray(r) for r in results]


def attempt(oracle, model, inputs):
    """(outputs, None) or (None, why not)."""
    try:
        return oracle(model, inputs), None
    except Exception as error:  # an oracle fails in any way it likes; that is a result here
        return None, f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
