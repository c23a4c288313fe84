"""What a case has to exist for: every type string of every type constraint of every operator, at the newest version, and at an older one
where the constraint's types are not those of the version behind it."""
import dataclasses

import onnx

DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")


@dataclasses.dataclass(frozen=True, order=True)
class Pair:
    domain: str
    op: str
    version: int
    variable: str  # of the schema: "T", "Tind"
    type: str  # as the schema writes it: "tensor(float16)", "seq(tensor(string))"

    def __str__(self):
        return f"{self.domain or 'ai.onnx'} {self.op}-{self.version} {self.variable}={self.type}"


def constraints(schema):
    return {c.type_param_str: frozenset(c.allowed_type_strs) for c in schema.type_constraints}


def versions():
    """{(domain, operator): [schema, newest first]}."""
    found = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in DOMAINS:
            found.setdefault((schema.domain, schema.name), []).append(schema)
    return {key: sorted(some, key=lambda s: -s.since_version) for key, some in sorted(found.items())}


def wanted(newest_only=False):
    """[(schema, [Pair])] in a fixed order."""
    rows = []
    for schemas in versions().values():
        for k, schema in enumerate(schemas[:1] if newest_only else schemas):
            behind = constraints(schemas[k - 1]) if k else {}
            rows.append((schema, [Pair(schema.domain, schema.name, schema.since_version, variable, kind)
                                  for variable, kinds in sorted(constraints(schema).items()) if kinds != behind.get(variable)
                                  for kind in sorted(kinds)]))
    return [(schema, some) for schema, some in rows if some]


def formal(operands, k):
    """The formal operand of the k-th actual one, or None."""
    if k < len(operands):
        return operands[k]
    return operands[-1] if operands and operands[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic else None
