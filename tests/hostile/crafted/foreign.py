"""Files that are not models at all, and models with something around them."""
import random
import zlib

from . import ACCEPT, ANY, DIRECTORY, FIFO, REFUSE, Case, Link, message, relu_data, relu_model, to_bytes, varint


def foreign():
    """name: bytes of other formats."""
    noise = random.Random(7)
    return {
        "empty": b"",
        "zero_byte": b"\0",
        "newline": b"\n",
        "zeros": bytes(4096),
        "ones": b"\xff" * 4096,
        "noise": noise.randbytes(65536),
        "text": b"This is not a model.\n" * 40,
        "utf16": "ONNX model".encode("utf-16"),
        "json": b'{"ir_version": 8, "graph": {"node": []}}\n',
        "xml": b"<?xml version='1.0'?><net name='m' version='11'></net>\n",
        "elf": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0\x3e\0\x01\0\0\0" + bytes(104),
        "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89",
        "zip": b"PK\x05\x06" + bytes(18),
        "zip_entry": b"PK\x03\x04\x14\0\0\0\x08\0" + bytes(20) + b"model.onnx",
        "gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + zlib.compress(b"x" * 100)[2:],
        "pickle": b"\x80\x04\x95\x0c\0\0\0\0\0\0\0\x8c\x08builtins\x94.",
        "flatbuffer": b"\x1c\0\0\0TFL3\x14\0\x20\0\x1c\0\x18\0\x14\0\x10\0\x0c\0\0\0\x08\0",
        "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(64),
        "shell": b"#!/bin/sh\nexit 0\n",
        "lfs_pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n",
        "endless_varint": b"\x80" * 500,
        "huge_length": varint(7 << 3 | 2) + varint(2**63),
        "length_minus_one": varint(7 << 3 | 2) + varint(2**64 - 1),
        "length_32_bits": varint(7 << 3 | 2) + varint(2**32 - 1) + b"abc",
        "field_zero": b"\x02\x01a",
        "wire_type_7": b"\x0f\x00",
        "group_open": b"\x3b" * 3000,
        "graph_as_varint": varint(7 << 3) + varint(5),
        "only_unknown_fields": message(900, b"abc") * 10,
    }


def around(plain):
    """Whole models in company: (name, expect, bytes)."""
    yield "model_twice", ANY, plain + plain
    yield "trailing_noise", ANY, plain + b"\xff\xff\xff\xff\xff\xff"
    yield "trailing_zero", REFUSE, plain + b"\0"
    yield "leading_newline", REFUSE, b"\n" + plain
    yield "byte_order_mark", REFUSE, b"\xef\xbb\xbf" + plain
    yield "crlf", REFUSE, b"\r\n".join(plain.split(b"\n")) + b"\r\n"
    yield "gzipped", REFUSE, b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + zlib.compress(plain)[2:-4]
    yield "base64", REFUSE, b"CAgSAA=="
    yield "unknown_fields", ACCEPT, plain + message(900, b"later") + varint(901 << 3) + varint(3)
    yield "graph_only", REFUSE, relu_model().graph.SerializeToString()


def cases():
    for name, data in foreign().items():
        yield Case(name, REFUSE, data, "not a model")
    for name, expect, data in around(to_bytes(relu_model())):
        yield Case(name, expect, data, data=relu_data() if expect == ACCEPT else [])
    yield Case("directory", REFUSE, DIRECTORY, "the model's path is a folder")
    yield Case("fifo", REFUSE, FIFO, "opening must not wait for a writer")
    yield Case("dangling_link", REFUSE, Link("nowhere.onnx"), "the model's path leads nowhere")
    yield Case("link_to_itself", REFUSE, Link("model.onnx"), "the model's path is a circle")
    yield Case("device_zero", REFUSE, Link("/dev/zero"), "an endless file")
    for name, file in {"quotes": 'a"b\'c.onnx', "comment": "x\n*y.onnx", "spaces": " two  words .onnx",
                       "unicode": "模型 é‮.onnx", "percent": "%s%n%d.onnx", "no_suffix": "model", "digits": "12.onnx",
                       "keyword": "int.onnx", "dots": "a.b.c.onnx", "dollar": "$(touch x);`id`.onnx",
                       "long": "n" * 240 + ".onnx", "dash": "-model.onnx", "only_symbols": "+++.onnx"}.items():
        yield Case(f"file_name_{name}", ACCEPT, relu_model(), "any file name is fine", data=relu_data(), file=file)
