"""Damage done by a random generator: to a file's bytes, and to a model's content (which stays readable)."""

NUMBERS = (0, 1, -1, 2, 3, 7, 255, 65536, 2**31 - 1, -2**31, 2**32, 2**40, 2**62, 2**63 - 1, -2**63)
BYTES = (0, 1, 0x7F, 0x80, 0xFF)


def bytes_of(data, rng):
    """A copy with one to six changes: flips, replaced, removed, repeated or moved pieces."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data)) if data else 0
        size = min(rng.choice((1, 2, 4, 16, 64)), len(data) - at)
        kind = rng.randrange(6)
        if kind == 0:
            data[at:at + 1] = bytes([(data[at] if data else 0) ^ (1 << rng.randrange(8))])
        elif kind == 1:
            data[at:at + size] = bytes(rng.choice(BYTES) for _ in range(size))
        elif kind == 2:
            del data[at:at + size]
        elif kind == 3:
            data[at:at] = data[at:at + size] * rng.choice((1, 2, 50))
        elif kind == 4:
            to = rng.randrange(len(data)) if data else 0
            data[to:to] = data[at:at + size]
        else:
            data[at:at + 1] = bytes([((data[at] if data else 0) + rng.choice((1, -1, 8, 16))) & 0xFF])
    return bytes(data)


def messages(held, found):
    """All messages inside this one, itself first."""
    found.append(held)
    for field, content in held.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in (content if repeated(field) else [content]):
                messages(inner, found)
    return found


def repeated(field):
    return getattr(field, "is_repeated", None) if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED


def names(model):
    return [name for node in model.graph.node for name in (*node.input, *node.output)] or [""]


def model_of(model, rng):
    """(model, what was done): one to three fields changed to something that the encoding allows."""
    done = []
    for _ in range(rng.randint(1, 3)):
        target = rng.choice(messages(model, []))
        fields = [(field, content) for field, content in target.ListFields() if field.name != "raw_data"]
        if not fields:
            continue
        field, content = rng.choice(fields)
        done.append(f"{target.DESCRIPTOR.name}.{field.name}: {change(target, field, content, model, rng)}")
    return model, "; ".join(done) or "unchanged"


def change(target, field, content, model, rng):
    if not repeated(field):
        if field.type == field.TYPE_MESSAGE or rng.random() < 0.2:
            target.ClearField(field.name)
            return "removed"
        setattr(target, field.name, other(field, content, model, rng))
        return "changed"
    at = rng.randrange(len(content))
    kind = rng.choice(("remove", "repeat", "replace", "replace"))
    if kind == "replace" and field.type != field.TYPE_MESSAGE:
        content[at] = other(field, content[at], model, rng)
    elif kind == "repeat":
        content.append(content[at])
    else:
        del content[at]
        return f"remove {at}"
    return f"{kind} {at}"


def other(field, content, model, rng):
    """Another value for a scalar field."""
    if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
        text = rng.choice(names(model)) if rng.random() < 0.7 else rng.choice(("", "ai.onnx", "Add", "Loop", "x" * 300))
        return text if field.type == field.TYPE_STRING else text.encode()
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return rng.choice((0.0, -1.0, 1e30, float("nan"), float("inf"), 0.5))
    if field.type == field.TYPE_ENUM:
        return rng.choice([v.number for v in field.enum_type.values])
    small = field.type in (field.TYPE_INT32, field.TYPE_UINT32)
    number = rng.choice([n for n in NUMBERS if not small or -2**31 <= n < 2**31])
    return max(number, 0) if field.type in (field.TYPE_UINT32, field.TYPE_UINT64) else number
