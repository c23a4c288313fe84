#!/usr/bin/env python3
"""ncnn as a worker of tests/bench/run.py (the protocol: worker.h); float32, through its Python module.

  ncnn_worker.py PNNX MODEL.onnx FOLDER THREADS INPUTS OUTPUTS

PNNX, of the package pnnx, converts the model; the example that it writes says which axis of each input and output is the batch. A call
copies the inputs into ncnn's and the outputs out of them, as any caller has to.
"""
import json
import re
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import ncnn
import numpy as np

FLOAT = 1  # TensorProto.DataType
LEAST = 5e-6  # seconds of a sample


def read_feed(path):
    blob, at, arrays = path.read_bytes(), 8, []
    for _ in range(struct.unpack_from("=Q", blob)[0]):
        length = struct.unpack_from("=Q", blob, at)[0]
        kind, rank = struct.unpack_from("=QQ", blob, at + 8 + length)
        at += 24 + length
        shape = struct.unpack_from(f"={rank}q", blob, at)
        if kind != FLOAT:
            sys.exit("an input is not float32")
        arrays.append(np.frombuffer(blob, np.float32, int(np.prod(shape)), at + 8 * rank).reshape(shape).copy())
        at += 8 * rank + arrays[-1].nbytes
    return arrays


def convert(pnnx, model, folder):
    folder.mkdir(exist_ok=True)
    shutil.copyfile(model, folder / "m.onnx")
    done = subprocess.run([pnnx, "m.onnx", "fp16=0"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / "m_ncnn.py").exists():
        sys.exit("pnnx does not convert it")
    return (folder / "m_ncnn.py").read_text()


def batch_axes(example, pattern):
    """By number of an input or output: its axis of the batch, or None."""
    return {int(i): int(axis) if axis else None for i, axis in re.findall(pattern, example)}


def open_net(folder, threads):
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = net.opt.use_bf16_storage = False
    if net.load_param(str(folder / "m.ncnn.param")) or net.load_model(str(folder / "m.ncnn.bin")):
        sys.exit("ncnn does not load it")
    return net


class Model:
    def __init__(self, pnnx, path, folder, threads, arrays):
        example = convert(pnnx, path, folder)
        inputs = batch_axes(example, r'ex\.input\("in(\d+)", ncnn\.Mat\(in\d+[^,)]*\)?(?:, batch_index=(\d+))?\)')
        self.outputs = batch_axes(example, r"out(\d+)\.numpy\((?:batch_index=(\d+))?\)")
        if len(inputs) != len(arrays) or not self.outputs:
            sys.exit("pnnx's example is not understood")
        self.net = open_net(folder, threads)
        self.mats = {f"in{i}": ncnn.Mat(arrays[i] if axis is None else np.ascontiguousarray(arrays[i].squeeze(axis))).clone() for i, axis in inputs.items()}

    def run(self):
        found = []
        with self.net.create_extractor() as ex:
            for name, mat in self.mats.items():
                ex.input(name, mat)
            for i in self.outputs:
                status, mat = ex.extract(f"out{i}")
                if status:
                    sys.exit(f"out{i} is not computed")
                found.append(np.array(mat))
        return found

    def write_outputs(self, path):
        with open(path, "wb") as f:
            for array, axis in zip(self.run(), self.outputs.values()):
                a = np.ascontiguousarray(array if axis is None else np.expand_dims(array, axis), np.float32)
                f.write(struct.pack(f"=Q{a.ndim}Q", a.ndim, *a.shape) + a.tobytes())


def sample(run, batch):
    start = time.perf_counter()
    for _ in range(batch):
        run()
    return (time.perf_counter() - start) / batch


def serve(run):
    batch = 1
    while min(sample(run, batch) for _ in range(3)) * batch < LEAST:
        batch *= 2
    print("READY " + json.dumps({"batch": batch}), flush=True)
    for line in sys.stdin:
        _, seconds, most = line.split()
        end, samples = time.perf_counter() + float(seconds), []
        run()
        while not samples or (len(samples) < int(most) and time.perf_counter() < end):
            samples.append(sample(run, batch))
        print(" ".join(f"{t * 1e6:.4f}" for t in samples), flush=True)


def main():
    pnnx, model, folder, threads, inputs, outputs = sys.argv[1:]
    net = Model(pnnx, model, Path(folder), int(threads), read_feed(Path(inputs)))
    net.write_outputs(outputs)
    serve(net.run)


if __name__ == "__main__":
    main()
