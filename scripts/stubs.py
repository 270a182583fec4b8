"""Writes src/rushlight/_C.pyi, the types of the engine, from the schemas of its operations and from Tensor itself.

Run it after operations, methods or properties have changed. With --print it shows the file and writes nothing.
"""

from __future__ import annotations

import builtins
import inspect
import keyword
import pathlib
import re
import sys

import rushlight
from rushlight import _C

HEAD = '''\
"""Types of the engine, written by scripts/stubs.py: do not edit."""

# mypy: disable-error-code="override, misc, overload-overlap, overload-cannot-match, assignment"
from builtins import bool as _bool, float as _float, int as _int, str as _str, type as _type
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self, TypeAlias, overload

from ._size import Size
from ._types import layout as _layout, memory_format as _memory_format

Number: TypeAlias = _bool | _int | _float

# Within Tensor these names are methods and properties.
_dtype: TypeAlias = dtype
_device: TypeAlias = device
'''

# What the signatures of the binding leave open: `object` stands for whatever converts.
RETURNS = {
    "_contiguous_strides": "Size",
    "_from_nested": "Tensor",
    "_make_subclass": "Any",
    "_resize_": "Tensor",
    "get_default_dtype": "_dtype",
    "device.index": "_int | None",
    "dtype.__deepcopy__": "dtype",
    "dtype.__copy__": "dtype",
    "Generator.manual_seed": "Generator",
    "Generator.set_state": "Generator",
    "Generator.clone_state": "Generator",
    "Generator.device": "_device",
    "Node.next_functions": "tuple[tuple[Node | None, _int], ...]",
    "Node._saved_tensors": "tuple[Tensor, ...]",
}
PROPERTIES = {  # of Tensor; those that can be set end in "="
    "shape": "Size",
    "dtype": "_dtype",
    "device": "_device",
    "ndim": "_int",
    "itemsize": "_int",
    "nbytes": "_int",
    "requires_grad": "_bool=",
    "is_leaf": "_bool",
    "retains_grad": "_bool",
    "grad": "Tensor | None=",
    "grad_fn": "Node | None",
    "data": "Tensor=",
    "output_nr": "_int",
    "_base": "Tensor | None",
    "_version": "_int",
    "layout": "_layout",
    "names": "tuple[None, ...]",
    **dict.fromkeys("T H mT mH real".split(), "Tensor"),
    **dict.fromkeys("is_meta is_cpu is_cuda is_sparse is_quantized is_nested is_mps".split(), "_bool"),
}
METHODS = {  # of Tensor, written in C++ but no operations
    **dict.fromkeys("numel nelement dim ndimension data_ptr storage_offset element_size".split(), ["(self) -> _int"]),
    **dict.fromkeys("is_inference is_floating_point".split(), ["(self) -> _bool"]),
    "item": ["(self) -> Any"],
    "detach": ["(self) -> Tensor"],
    "detach_": ["(self) -> Self"],
    "retain_grad": ["(self) -> None"],
    "requires_grad_": ["(self, requires_grad: _bool = True) -> Self"],
    "size": ["(self, dim: None = None) -> Size", "(self, dim: _int) -> _int"],
    "stride": ["(self, dim: None = None) -> tuple[_int, ...]", "(self, dim: _int) -> _int"],
}
OPERATORS = {  # the special methods of Tensor, by signature
    "(self, other: Any, /) -> Tensor": """
        lt le eq ne gt ge add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow
        matmul rmatmul and rand or ror xor rxor lshift rlshift rshift rrshift""",
    "(self, other: Any, /) -> Self": "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift",
    "(self) -> Tensor": "neg pos abs invert",
    "(self) -> _int": "hash int index len",
    "(self) -> _bool": "bool",
    "(self) -> _float": "float",
    "(self, index: Any, /) -> Tensor": "getitem",
    "(self, index: Any, value: Any, /) -> None": "setitem delitem",
    "(self) -> Iterator[Tensor]": "iter",
}
LEFT_OUT = {"__new__", "__dict__", "__doc__", "__module__", "__weakref__"}

ARGUMENTS = {  # types of schemas
    "Tensor": "Tensor",
    "Number|Tensor": "Number | Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "str": "_str",
    "Scalar": "Number",
    "int[]": "Sequence[_int]",
    "dtype": "_dtype",
    "device": "_device | _str | _int",
    "memory_format": "_memory_format",
    "Generator": "Generator",
}


class Parameter:
    """One of a schema's: ``int[2]? stride=None``."""

    def __init__(self, text: str):
        declaration, _, self.default = text.partition("=")
        kind, self.name = declaration.rsplit(" ", 1)
        self.spread = kind.endswith("*")
        kind = kind.rstrip("*")
        optional = kind.endswith("?") or self.default == "None"
        kind, broadcast = re.subn(r"\[\d\]", "[]", kind.rstrip("?"))
        self.type = ARGUMENTS[kind] + " | _int" * bool(broadcast) + " | None" * optional


class Schema:
    """``name(Tensor self, int dim=0) -> Tensor``, taken apart."""

    def __init__(self, text: str):
        self.name, rest = text.split("(", 1)
        inside, self.returns = rest.rsplit(") -> ", 1)
        parts = re.findall(r"(?:[^,(\[']|\([^)]*\)|\[[^]]*\]|'[^']*')+", inside)
        self.parameters: list[Parameter | None] = []  # None: the star before what is given by keyword only
        for part in map(str.strip, parts):
            self.parameters.append(None if part == "*" else Parameter(part))

    def fields(self) -> list[str]:
        """Names of the results, where they have any."""
        return re.findall(r"Tensor (\w+)", self.returns)

    def result(self) -> str:
        if self.fields():
            return f"_return_{self.name}"
        if self.returns == "Tensor[]":
            return "tuple[Tensor, ...]"
        if self.returns.startswith("("):
            return f"tuple[{self.returns[1:-1]}]"
        return {"Scalar": "Number", "()": "None"}.get(self.returns) or ARGUMENTS[self.returns]

    def signatures(self, is_method: bool, in_place: bool, out: bool) -> list[str]:
        spread = any(p and p.spread for p in self.parameters)
        result = ("Self" if is_method else "Tensor") if in_place else self.result()
        return [
            f"({self.arguments(is_method, star, out)}) -> {result}" for star in ((False, True) if spread else (False,))
        ]

    def arguments(self, is_method: bool, star: bool, out: bool) -> str:
        shown: list[str] = []
        keywords = False
        for i, p in enumerate(self.parameters):
            if p is None:
                keywords = True
                if not (star and any(s.startswith("*") for s in shown)):
                    shown.append("*")
                continue
            default = f" = {p.default}" if p.default else ""
            if i == 0 and is_method:
                shown.append("self")
            elif p.name == "self":
                shown.append(f"input: {p.type}{default}")
            elif p.spread and star:
                shown.append(f"*{p.name}: _int")
            elif keyword.iskeyword(p.name):  # "from": cannot be given by name
                shown += [f"{p.name}_: {p.type}{default}", "/"]
            else:
                shown.append(f"{p.name}: {p.type}{default}")
        if out:
            stars = keywords or any(s.startswith("*") for s in shown)
            shown += ["out: Tensor | None = None"] if stars else ["*", "out: Tensor | None = None"]
        return ", ".join(shown)


def definition(name: str, signatures: list[str], indent: str = "") -> list[str]:
    signatures = list(dict.fromkeys(signatures))
    mark = [f"{indent}@overload"] if len(signatures) > 1 else []
    return [line for s in signatures for line in (*mark, f"{indent}def {name}{s}: ...")]


def operation(name: str, indent: str) -> list[str]:
    """All signatures of an operation, as a function or as a method of Tensor (then indented)."""
    found, in_place, out = _C._describe(name)
    in_place |= name.endswith("_")  # transpose_ and the like have schemas of their own
    signatures = [s for text in found for s in Schema(text).signatures(bool(indent), in_place, out)]
    return definition(name, signatures, indent)


def plain(annotation: str) -> str:
    """An annotation in the words of the stub, where the names of builtins mean methods and dtypes."""
    text = re.sub(r"\b(rushlight\._C|rushlight|collections\.abc)\.", "", annotation)
    text = re.sub(r"\bobject( \| None)?\b", "Any", text)
    return re.sub(r"(?<![.\w\"'])(bool|float|int|str|type|dtype|device|layout|memory_format)\b(?!:)", r"_\1", text)


def bound(name: str, f, indent: str = "", home: str = "") -> list[str]:
    """What nanobind binds: its own signatures, refined by RETURNS."""
    signatures = []
    for text, _, *rest in f.__nb_signature__:
        for value in rest[0] or () if rest else ():
            text = re.sub(r"\\\d+", repr(value), text, count=1)
        text = plain(text[text.index("(") :])
        if f"{home}{name}" in RETURNS:
            text = text[: text.rindex(" -> ")] + f" -> {RETURNS[f'{home}{name}']}"
        signatures.append(text)
    return definition(name, signatures, indent)


def bound_class(name: str, cls: type) -> list[str]:
    lines = []
    for key, value in vars(cls).items():
        if isinstance(value, property):
            ((signature, *_),) = getattr(value.fget, "__nb_signature__", [("-> Any",)])
            kind = RETURNS.get(f"{name}.{key}") or plain(signature.rpartition("-> ")[2])
            lines += ["    @property", f"    def {key}(self) -> {kind}: ..."]
        elif hasattr(value, "__nb_signature__"):
            lines += bound(key, value, "    ", f"{name}.")
        elif inspect.isfunction(value):
            lines += python_method(key, value)
    return [f"class {name}:", *(lines or ["    ..."]), ""]


def python_method(name: str, f) -> list[str]:
    """A method that src/rushlight attaches."""
    shown, star = [], False
    for p in inspect.signature(f).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            shown.append("*")
        star |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = "" if p.annotation is p.empty else f": {plain(str(p.annotation))}"
        simple = p.default is None or isinstance(p.default, (builtins.bool, builtins.int, builtins.float, str))
        value = repr(p.default) if simple else "..."
        equals = " = " if kind else "="
        shown.append(prefix + p.name + kind + (equals + value if p.default is not p.empty else ""))
    returns = inspect.signature(f).return_annotation
    arrow = "" if returns is inspect.Signature.empty else f" -> {plain(str(returns))}"
    return [f"    def {name}({', '.join(shown)}){arrow}: ..."]


def tensor_class() -> list[str]:
    operators = {f"__{n}__": s for s, names in OPERATORS.items() for n in names.split()}
    lines = ["class Tensor(metaclass=_TensorMeta):", "    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]
    for name, value in sorted(vars(rushlight.Tensor).items()):
        kind = type(value).__name__
        if name in LEFT_OUT:
            continue
        if name in operators:
            lines.append(f"    def {name}{operators[name]}: ...")
        elif kind == "Method":
            lines += operation(name, "    ")
        elif kind in ("getset_descriptor", "property"):
            value_type = PROPERTIES.get(name) or sys.exit(f"add the type of Tensor.{name} to PROPERTIES in {__file__}")
            lines += ["    @property", f"    def {name}(self) -> {value_type.rstrip('=')}: ..."]
            if value_type.endswith("="):
                lines += [f"    @{name}.setter", f"    def {name}(self, value: {value_type[:-1]}, /) -> None: ..."]
        elif kind == "method_descriptor":
            found = METHODS.get(name) or sys.exit(f"add the signatures of Tensor.{name} to METHODS in {__file__}")
            lines += definition(name, found, "    ")
        elif kind == "function":
            lines += python_method(name, value)
        elif kind in ("classmethod", "staticmethod"):
            lines.append(f"    @{kind}")
            lines += (
                python_method(name, value.__func__)
                if inspect.isfunction(value.__func__)
                else bound(name, value.__func__, "    ")
            )
        else:
            lines.append(f"    {name}: _{kind}")
    return [*lines, ""]


def stub() -> str:
    lines = [HEAD]
    classes = {n: v for n, v in vars(_C).items() if isinstance(v, type) and n != "Tensor"}
    for name, cls in sorted(classes.items()):
        if cls.__module__ not in ("rushlight", "rushlight._C"):
            continue  # an attribute that the package set
        if issubclass(cls, BaseException):
            lines += [f"class {name}({cls.__base__.__name__}): ...", ""]
        elif issubclass(cls, type):
            lines += [f"class {name}(_type): ...", ""]
        else:
            lines += bound_class(name, cls)
    named = {schema.name: schema.fields() for schema in map(Schema, _C._registered_ops()) if schema.fields()}
    for name, fields in sorted(named.items()):
        lines += [f"class _return_{name}(NamedTuple):", *(f"    {f}: Tensor" for f in fields), ""]
    lines += tensor_class()
    for name, value in sorted(vars(_C).items()):
        if name in classes or name == "Tensor" or (name.startswith("__") and name.endswith("__")):
            continue
        kind = type(value).__name__
        if kind == "Function":
            lines += operation(name, "")
        elif kind == "nb_func":
            lines += bound(name, value)
        else:
            lines.append(f"{name}: {plain(kind)}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--print" in sys.argv:
        print(stub(), end="")
    else:
        (pathlib.Path(__file__).parent.parent / "src" / "rushlight" / "_C.pyi").write_text(stub())
