"""Models as C code of other generators, emx-onnx-cgen and onnx2c, as peers of run.py: their code, one function that takes the inputs and then the outputs,
and tests/bench/c_worker.c around it. What they generate stays in the benchmark's temporary folder.
"""
import subprocess
import sys
from pathlib import Path

import onnx

HERE = Path(__file__).resolve().parent
MOST_BYTES = 64 << 20  # of a model: its weights become C text
SECONDS = 600  # of generating or compiling
FLOAT = onnx.TensorProto.FLOAT


def output_sizes(model):
    """[[size]] of the outputs; ValueError where one is open or no float32."""
    graph = onnx.shape_inference.infer_shapes(onnx.load(str(model)), data_prop=True).graph
    sizes = []
    for o in graph.output:
        tensor = o.type.tensor_type
        sizes.append([d.dim_value for d in tensor.shape.dim])
        if tensor.elem_type != FLOAT or not all(sizes[-1]):
            raise ValueError("an output's size or type is not known")
    return sizes, len([i for i in graph.input if i.name not in {t.name for t in graph.initializer}])


def write_glue(path, entry, n_inputs, sizes):
    """What c_worker.c asks of the model; the entry's own prototype, with the sizes of its arrays, is in the generated file."""
    args = [f"in[{i}]" for i in range(n_inputs)] + [f"out[{i}]" for i in range(len(sizes))]
    rows = ", ".join("{%d, {%s}}" % (len(s), ", ".join(map(str, s or [0]))) for s in sizes)
    path.write_text(f'#include "c_peer.h"\nextern void {entry}();\nconst size_t peer_inputs = {n_inputs}, peer_outputs = {len(sizes)};\n'
                    f"const struct peer_shape peer_shapes[] = {{{rows}}};\nvoid peer_run(void **in, void **out) {{ {entry}({', '.join(args)}); }}\n")


def build(case, folder, generate, entry, cc, flags):
    """The program; ValueError says what is wrong. generate(model, source): the words that make the source."""
    if Path(case.model).stat().st_size > MOST_BYTES:
        raise ValueError("too large to become C text")
    folder.mkdir(exist_ok=True)
    source, glue, program = folder / "peer.c", folder / "glue.c", folder / "peer"
    sizes, n_inputs = output_sizes(case.model)
    words, to_source = generate(case.model, source)
    try:
        with (source if to_source else folder / "log").open("w") as out:
            if subprocess.run([str(w) for w in words], stdout=out, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False).returncode or not source.exists():
                raise ValueError("no code for this model")
        write_glue(glue, entry, n_inputs, sizes)
        done = subprocess.run([*cc, *flags, "-w", "-std=gnu11", "-I", str(HERE), str(HERE / "c_worker.c"), str(glue), str(source), "-o", str(program), "-lm"],
                              capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as e:
        raise ValueError(f"took longer than {SECONDS} s") from e
    if done.returncode:
        raise ValueError("its code does not compile")
    return program


def emx(model, source):
    return [sys.executable, "-c", "from emx_onnx_cgen.cli import main; import sys; sys.exit(main())", "compile", "--large-weight-threshold", "0",
            "--model-name", "peer_model", model, source], False


def onnx2c(binary):
    return lambda model, source: ([binary, model], True)
