"""Weights in files beside the model: what is inside its folder may be read, nothing else."""
import numpy as np
import onnx

from . import (ACCEPT, ANY, DIRECTORY, F32, FIFO, I64, REFUSE, STRING, Case, Link, constant, model, node, ramp, value)

SHAPE = (4, 8)
W = np.arange(32, dtype=np.float32).reshape(SHAPE) / 8
BYTES = W.tobytes()


def external_model(entries, dtype=F32, dims=SHAPE, raw=None):
    """y = x + w with w outside; entries: the key/value pairs of external_data."""
    built = model([node("Add", ["x", "w"], ["y"])], [value("x", F32, SHAPE)], [value("y", F32, SHAPE)])
    tensor = built.graph.initializer.add(name="w", data_type=dtype, dims=dims)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    if raw is not None:
        tensor.raw_data = raw
    for key, text in entries:
        tensor.external_data.add(key=key, value=text)
    return built


def at(location, offset=None, length=None, *more):
    pairs = [("location", location)]
    if offset is not None:
        pairs.append(("offset", str(offset)))
    if length is not None:
        pairs.append(("length", str(length)))
    return pairs + list(more)


def good():
    """(name, entries, files): all of them mean w."""
    pad = b"\xaa" * 100
    yield "plain", at("w.bin", 0, 128), {"w.bin": BYTES}
    yield "no_offset", at("w.bin", None, 128), {"w.bin": BYTES}
    yield "no_length", at("w.bin", 0), {"w.bin": BYTES}
    yield "location_only", at("w.bin"), {"w.bin": BYTES}
    yield "offset", at("w.bin", 100, 128), {"w.bin": pad + BYTES + pad}
    yield "odd_offset", at("w.bin", 3, 128), {"w.bin": b"abc" + BYTES}
    yield "subfolder", at("a/b/w.bin", 0, 128), {"a/b/w.bin": BYTES}
    yield "dot", at("./w.bin", 0, 128), {"w.bin": BYTES}
    yield "checksum", at("w.bin", 0, 128, ("checksum", "0" * 40)), {"w.bin": BYTES}
    yield "dots_in_name", at("..w..bin", 0, 128), {"..w..bin": BYTES}
    yield "space_in_name", at("my weights.bin", 0, 128), {"my weights.bin": BYTES}
    yield "unicode_name", at("gewichte-ü.bin", 0, 128), {"gewichte-ü.bin": BYTES}
    yield "keys_in_other_order", [("length", "128"), ("location", "w.bin"), ("offset", "0")], {"w.bin": BYTES}


def bad():
    """(name, entries, files)"""
    inside = {"w.bin": BYTES}
    for name, location in {
        "parent": "../w.bin", "parent_inside": "a/../w.bin", "parent_end": "a/..", "only_parent": "..", "dot_only": ".",
        "absolute": "/etc/passwd", "absolute_device": "/dev/zero", "proc": "/proc/self/mem", "empty": "",
        "missing": "nothing.bin", "missing_folder": "nothing/w.bin", "under_a_file": "w.bin/x",
        "nul": "w.bin\0.png", "nul_first": "\0w.bin", "backslash": "a\\w.bin", "url": "file:///etc/passwd",
        "home": "~/w.bin", "long": "w" * 5000, "deep": "a/" * 3000 + "w.bin", "newline": "w.bin\n", "drive": "C:\\w.bin",
        "double_parent": "a/b/../../../w.bin", "itself_upwards": "../model.onnx", "environment": "$HOME/w.bin",
    }.items():
        yield f"location_{name}", at(location, 0, 128), {**inside, "a/b/w.bin": BYTES}
    for name, offset, length in (
        ("short_file", 0, 128 * 4), ("offset_at_end", 128, 128), ("offset_past_end", 10**6, 128), ("negative_offset", -1, 128),
        ("negative_length", 0, -128), ("offset_max", 2**63 - 1, 128), ("offset_wraps", 2**64 - 64, 128),
        ("length_max", 0, 2**63 - 1), ("both_max", 2**63 - 1, 2**63 - 1), ("beyond_64_bits", 10**30, 128),
        ("offset_text", "abc", 128), ("offset_mixed", "0x10", 128), ("offset_empty", "", 128), ("offset_float", "1.5", 128),
        ("offset_exponent", "1e3", 128), ("length_text", 0, "all"), ("length_too_small", 0, 64),
        ("length_not_multiple", 0, 127), ("last_byte_missing", 1, 128), ("offset_plus_length_wraps", 2**63, 2**63),
    ):
        yield f"range_{name}", at("w.bin", offset, length), inside
    yield "no_location", [("offset", "0"), ("length", "128")], inside
    yield "no_entries", [], inside
    yield "empty_file", at("w.bin", 0, 128), {"w.bin": b""}
    yield "empty_file_no_length", at("w.bin"), {"w.bin": b""}
    yield "symlink", at("w.bin", 0, 128), {"real.bin": BYTES, "w.bin": Link("real.bin")}
    yield "symlink_out", at("w.bin", 0, 128), {"w.bin": Link("/etc/passwd")}
    yield "symlink_device", at("w.bin", 0, 128), {"w.bin": Link("/dev/zero")}
    yield "symlink_folder", at("a/w.bin", 0, 128), {"b/w.bin": BYTES, "a": Link("b")}
    yield "symlink_folder_out", at("a/passwd", 0, 128), {"a": Link("/etc")}
    yield "symlink_circle", at("w.bin", 0, 128), {"w.bin": Link("w.bin")}
    yield "fifo", at("w.bin", 0, 128), {"w.bin": FIFO}
    yield "folder", at("w.bin", 0, 128), {"w.bin": DIRECTORY}
    yield "model_itself_beyond", at("model.onnx", 10**5, 128), {}


def cases():
    x = ramp(SHAPE)
    for name, entries, files in good():
        yield Case(f"good_{name}", ACCEPT, external_model(entries), files=files, data=[([x], [x + W])])
    for name, entries, files in bad():
        yield Case(f"bad_{name}", REFUSE, external_model(entries), files=files)
    yield Case("good_model_itself", ANY, external_model(at("model.onnx", 0, 128)), "reads the model's own bytes")
    yield Case("bad_strings", REFUSE, external_model(at("w.bin", 0, 128), dtype=STRING), files={"w.bin": BYTES})
    yield Case("bad_type", REFUSE, external_model(at("w.bin", 0, 128), dtype=0), files={"w.bin": BYTES})
    yield Case("bad_dims", REFUSE, external_model(at("w.bin", 0, 128), dims=[2**40, 2**40]), files={"w.bin": BYTES})
    yield Case("bad_negative_dims", REFUSE, external_model(at("w.bin"), dims=[-4, -8]), files={"w.bin": BYTES})
    yield Case("raw_data_too", ANY, external_model(at("w.bin", 0, 128), raw=BYTES), files={"w.bin": BYTES})
    yield Case("trailing_slash", ANY, external_model(at("w.bin/", 0, 128)), files={"w.bin": BYTES})
    yield Case("length_zero", ANY, external_model(at("w.bin", 0, 0)), files={"w.bin": BYTES})
    yield Case("unknown_key", ANY, external_model(at("w.bin", 0, 128, ("basepath", "x"))), files={"w.bin": BYTES})
    yield Case("location_twice", ANY, external_model(at("w.bin", 0, 128, ("location", "../w.bin"))), files={"w.bin": BYTES})
    yield Case("shape_outside", ACCEPT, reshape_with_external_shape(), "constants that shapes depend on may be outside",
               files={"s.bin": np.array([8, 4], np.int64).tobytes()}, data=[([x], [x.reshape(8, 4)])])
    yield Case("many_tensors_one_file", ACCEPT, many_tensors(), files={"w.bin": BYTES}, data=[([x], [x + 200 * W])])
    yield Case("attribute_outside", ANY, attribute_outside(), files={"w.bin": BYTES})


def reshape_with_external_shape():
    built = model([node("Reshape", ["x", "s"], ["y"])], [value("x", F32, SHAPE)], [value("y", F32, (8, 4))])
    tensor = built.graph.initializer.add(name="s", data_type=I64, dims=[2])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="s.bin")
    return built


def many_tensors():
    built = model([node("Add", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(200)],
                  [value("v0", F32, SHAPE)], [value("v200", F32, SHAPE)])
    for i in range(200):
        tensor = built.graph.initializer.add(name=f"w{i}", data_type=F32, dims=SHAPE)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="w.bin")
    return built


def attribute_outside():
    built = model([node("Constant", [], ["w"], value=constant("t", W)), node("Add", ["x", "w"], ["y"])],
                  [value("x", F32, SHAPE)], [value("y", F32, SHAPE)])
    tensor = built.graph.node[0].attribute[0].t
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    return built
