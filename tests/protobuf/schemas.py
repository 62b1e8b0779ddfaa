"""Random schemas, as the text of .proto files."""

from dataclasses import dataclass, field
from random import Random

INTS = ["int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"]
NUMBERS = [*INTS, "float", "double", "bool"]
SCALARS = [*NUMBERS, "string", "bytes"]
KEYS = [*INTS, "bool", "string"]
WORDS = ["hp", "pos", "Name", "message", "optional", "in", "to", "a_long_name_of_a_field_that_goes_on", "_x", "HP"]
# The first and last field numbers, the numbers around which tags or varints become longer, and the numbers
# beside the reserved range.
EDGES = [1, 2, 15, 16, 17, 127, 128, 2047, 2048, 18999, 20000, 262143, 262144, 33554431, 33554432, 536870911]
EXTENSION = 50000
WELL_KNOWN = {"timestamp": "Timestamp", "struct": "Struct", "wrappers": "Int64Value", "any": "Any"}

FEATURES = {
    "field_presence": ["EXPLICIT", "IMPLICIT"],
    "enum_type": ["OPEN", "CLOSED"],
    "repeated_field_encoding": ["PACKED", "EXPANDED"],
    "message_encoding": ["DELIMITED", "LENGTH_PREFIXED"],
    "utf8_validation": ["VERIFY", "NONE"],
}
DEFAULTS = {
    "bool": ["true", "false"],
    "float": ["1.5", "-0.0", "inf", "-inf", "nan", "1e38", "3"],
    "double": ["1.5", "-0.0", "inf", "-inf", "nan", "1e308", "-7"],
    "string": ['""', '"none"', r'"\n\"\303\244\xe2\x82\xac\0"', "'it is'"],
    "bytes": ['""', r'"\0\377\001x"', r'"\x80\xff"'],
}


# The syntaxes of a file; numbers are editions.
SYNTAXES = ["proto2", "proto3", "2023", "2024"]


@dataclass
class Enum:
    name: str
    values: list[str]
    is_open: bool
    first_is_zero: bool


@dataclass
class File:
    """A file being written, and the types to which its fields may refer."""

    rng: Random
    syntax: str
    enums: list[Enum] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    extensible: list[str] = field(default_factory=list)
    names: int = 0
    # The features of the file, if it has an edition.
    features: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.proto3, self.edition = self.syntax == "proto3", self.syntax.startswith("2")
        for name, values in FEATURES.items() if self.edition else ():
            if self.rng.random() < 0.5:
                self.features[name] = self.rng.choice(values)

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def write_enum(self, indent: str, scope: str) -> str:
        """An enum with a few values, some of them negative, and some numbers twice."""
        rng, name = self.rng, self.name("Enum")
        closed = self.feature("OPEN", "CLOSED") if self.edition else None
        is_open = self.proto3 or self.edition and (closed or self.features.get("enum_type")) != "CLOSED"
        first_is_zero = is_open or rng.random() < 0.7
        extremes = [-1, 1, 2, 127, 128, -(2**31), 2**31 - 1, rng.randint(-(2**31), 2**31 - 1)]
        numbers = [0 if first_is_zero else rng.choice([1, -5, 7])]
        numbers += [n for n in rng.sample(extremes, rng.randint(0, 5)) if n not in numbers]
        alias = rng.random() < 0.3
        if alias:
            numbers += rng.choices(numbers, k=rng.randint(1, 2))
        values = [f"{name.upper()}_V{i}" for i in range(len(numbers))]
        self.enums.append(Enum(scope + name, values, is_open, first_is_zero))
        lines = [f"{indent}enum {name} {{"]
        lines += [f"{indent}  option allow_alias = true;"] if alias else []
        lines += [f"{indent}  option features.enum_type = {closed};"] if closed else []
        lines += [f"{indent}  {value} = {number};" for value, number in zip(values, numbers)]
        return "\n".join([*lines, f"{indent}}}"])

    def usable_enums(self, first_is_zero: bool = False) -> list[Enum]:
        must_be_open = self.proto3 or first_is_zero and self.features.get("field_presence") == "IMPLICIT"
        return [e for e in self.enums if e.is_open >= must_be_open and e.first_is_zero >= first_is_zero]

    def write_message(self, indent: str, scope: str, name: str, depth: int = 0) -> str:
        """A message with fields of any kind and with nested messages and enums."""
        rng, full, inner = self.rng, scope + name, indent + "  "
        lines = [f"{indent}message {name} {{"]
        if rng.random() < 0.4:
            lines.append(self.write_enum(inner, full + "."))
        if depth < 2 and rng.random() < 0.4:
            nested = self.name("Nested")
            lines.append(self.write_message(inner, full + ".", nested, depth + 1))
            self.messages.append(f"{full}.{nested}")
        count = rng.choice([0, 1, 3, 8, 8, 12, 20])
        numbers = rng.sample([*EDGES, *range(3, 15), *range(200, 240, 7)], count)
        if self.edition and rng.random() < 0.2:
            lines.append(f"{inner}reserved gone, {rng.choice(WORDS)};")
        if not self.proto3 and rng.random() < 0.3:
            self.extensible.append(full)
            lines.append(f"{inner}extensions {EXTENSION};")
        while numbers:
            if self.syntax == "proto2" and depth < 3 and rng.random() < 0.15:
                label = rng.choice(["optional", "repeated", "required"])
                lines.append(self.write_group(inner, full, numbers.pop(), label, depth))
            elif len(numbers) > 3 and rng.random() < 0.2:
                members = [self.write_field(inner + "  ", number, "oneof") for number in numbers[:2]]
                is_group = self.syntax == "proto2" and rng.random() < 0.5
                last = (inner + "  ", full, numbers[2], "", depth) if is_group else None
                members.append(self.write_group(*last) if last else self.write_field(inner + "  ", numbers[2], "oneof"))
                lines += [f"{inner}oneof {self.name('one')} {{", *members, f"{inner}}}"]
                numbers = numbers[3:]
            else:
                lines.append(self.write_field(inner, numbers.pop(), self.label()))
        return "\n".join([*lines, f"{indent}}}"])

    def write_group(self, indent: str, scope: str, number: int, label: str, depth: int) -> str:
        """A group, which is a message whose name gives the field its name."""
        name = self.name("Group")
        body = self.write_message(indent, scope + ".", name, depth + 1)
        self.messages.append(f"{scope}.{name}")
        return body.replace(f"message {name}", f"{label} group {name} = {number}", 1)

    def write_messages(self, scope: str, count: int) -> list[str]:
        """Messages that may refer to each other and to themselves."""
        names = [self.name("Message") for _ in range(count)]
        self.messages += [scope + name for name in names]
        return [self.write_message("", scope, name) for name in names]

    def write_extensions(self) -> list[str]:
        groups = self.syntax == "proto2"
        fields = [
            f"optional group {self.name('Extending')} = {EXTENSION} {{}}"
            if groups and self.rng.random() < 0.3
            else self.write_field("  ", EXTENSION, "extension")
            for _ in self.extensible
        ]
        return [f"extend .{message} {{\n{text}\n}}" for message, text in zip(self.extensible, fields)]

    def label(self) -> str:
        label = self.rng.choice(["", "", "optional", "repeated", "repeated", "map"])
        if label == "" and self.syntax == "proto2" or label == "optional" and self.edition:
            return self.rng.choice(["optional", "optional", "required"])
        return label

    def write_field(self, indent: str, number: int, label: str) -> str:
        rng = self.rng
        name = self.name(rng.choice(WORDS) + "_")
        if label == "map":
            value = self.type(first_is_zero=True)
            return f"{indent}map<{rng.choice(KEYS)}, {value}> {name} = {number};"
        # An extension may need an open enum, and cannot state its presence.
        is_bare = self.edition and label == "extension"
        kind = rng.choice(SCALARS) if is_bare else self.type(messages=label != "required")
        options = self.options(kind, label)
        options = f" [{', '.join(options)}]" if options else ""
        label = "optional" if label == "extension" else label
        is_written = label == "repeated" if self.edition else label not in ("", "oneof")
        label = label + " " if is_written else ""
        return f"{indent}{label}{kind} {name} = {number}{options};"

    def type(self, messages: bool = True, first_is_zero: bool = False) -> str:
        rng = self.rng
        enums = self.usable_enums(first_is_zero)
        draw = rng.random()
        if draw < 0.15 and enums:
            return "." + rng.choice(enums).name
        if draw < 0.4 and messages:
            return "." + rng.choice(self.messages)
        return rng.choice(SCALARS)

    def feature(self, *values: str) -> str | None:
        return self.rng.choice([None, *values])

    def options(self, kind: str, label: str) -> list[str]:
        rng = self.rng
        enum = next((e for e in self.enums if "." + e.name == kind), None)
        is_message = kind.startswith(".") and not enum
        options: list[str] = []
        if self.edition:
            options = self.own_features(label, enum, is_message, can_be_packed=kind in NUMBERS or enum is not None)
            presence = next((o.split()[-1] for o in options if "presence" in o), self.features.get("field_presence"))
            has_default = presence != "IMPLICIT" or label in ("oneof", "extension")
        elif label == "repeated" and (kind in NUMBERS or enum) and rng.random() < 0.5:
            return [f"packed = {rng.choice(['true', 'false'])}"]
        else:
            has_default = not self.proto3
        if not has_default or label in ("repeated", "required") or is_message or rng.random() < 0.5:
            return options
        return [*options, f"default = {self.default(kind, enum)}"]

    def own_features(self, label: str, enum: Enum | None, is_message: bool, can_be_packed: bool) -> list[str]:
        """The features that a field of an edition sets itself."""
        found: dict[str, str | None] = {}
        if label == "required":
            found["field_presence"] = "LEGACY_REQUIRED"
        elif label in ("", "optional") and not is_message:
            is_open = enum is None or enum.is_open
            found["field_presence"] = self.feature("EXPLICIT", "IMPLICIT") if is_open else "EXPLICIT"
        if label == "repeated" and can_be_packed:
            found["repeated_field_encoding"] = self.feature("PACKED", "EXPANDED")
        if is_message:
            found["message_encoding"] = self.feature("DELIMITED", "LENGTH_PREFIXED")
        return [f"features.{name} = {value}" for name, value in found.items() if value]

    def default(self, kind: str, enum: Enum | None) -> str:
        rng = self.rng
        if enum:
            return rng.choice(enum.values)
        if kind in DEFAULTS:
            return rng.choice(DEFAULTS[kind])
        bits = 32 if "32" in kind else 64
        unsigned = kind.startswith(("u", "fixed"))
        low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return str(rng.choice([low, high, 1, 42]))


def write(rng: Random) -> dict[str, str]:
    """Files by their paths; `main.proto` imports the others."""
    base = File(rng, rng.choice(SYNTAXES))
    scope = "shared."
    parts = [base.write_enum("", scope), base.write_enum("", scope)]
    parts += base.write_messages(scope, 2)
    parts += base.write_extensions()
    files = {"shared/base.proto": text(base, "shared", [], parts)}

    main = File(rng, rng.choice(SYNTAXES), base.enums[:], base.messages[:], names=100)
    imports = ["shared/base.proto"]
    package = rng.choice(["", "game", "game.v1"])
    scope = package + "." if package else ""
    if rng.random() < 0.25:
        file, message = rng.choice(list(WELL_KNOWN.items()))
        imports.append(f"google/protobuf/{file}.proto")
        main.messages.append(f"google.protobuf.{message}")
    parts = [main.write_enum("", scope)]
    parts += main.write_messages(scope, rng.randint(3, 5))
    parts += main.write_extensions()
    files["main.proto"] = text(main, package, imports, parts)
    return files


def text(file: File, package: str, imports: list[str], parts: list[str]) -> str:
    head = [f'{"edition" if file.edition else "syntax"} = "{file.syntax}";']
    head += [f"package {package};"] if package else []
    head += [f'import "{path}";' for path in imports]
    head += [f"option features.{name} = {value};" for name, value in file.features.items()]
    for name, value in [("enforce_naming_style", "STYLE_LEGACY"), ("default_symbol_visibility", "EXPORT_ALL")]:
        head += [f"option features.{name} = {value};"] if file.syntax == "2024" else []
    return "\n".join([*head, *parts, ""])
