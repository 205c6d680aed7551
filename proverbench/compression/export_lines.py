"""The lines of lean4export's NDJSON, as they are decoded."""

from typing import Any, Literal

import msgspec

from proverbench.compression.export import (
    Axiom,
    Constructor,
    Definition,
    InductiveType,
    Opaque,
    Quot,
    Recursor,
    Theorem,
)


class StrRow(msgspec.Struct):
    """A line\'s content: `str`."""

    pre: int
    str: str


class NumRow(msgspec.Struct):
    """A line\'s content: `num`."""

    pre: int
    i: int


class ConstRow(msgspec.Struct):
    """A line\'s content: `const`."""

    name: int
    us: list[int]


class AppRow(msgspec.Struct):
    """A line\'s content: `app`."""

    fn: int
    arg: int


class BinderRow(msgspec.Struct, rename="camel"):
    """A line\'s content: `binder`."""

    name: int
    type: int
    body: int
    binder_info: Literal["default", "implicit", "strictImplicit", "instImplicit"] = "default"


class LetRow(msgspec.Struct):
    """A line\'s content: `let`."""

    name: int
    type: int
    value: int
    body: int
    nondep: bool = False


class ProjRow(msgspec.Struct, rename="camel"):
    """A line\'s content: `proj`."""

    type_name: int
    idx: int
    struct: int


class MdataRow(msgspec.Struct):
    """A line\'s content: `mdata`."""

    expr: int
    data: Any = None


class Inductive30Row(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A line\'s content: `inductive30`."""

    inductive_vals: list[InductiveType]
    constructor_vals: list[Constructor]
    recursor_vals: list[Recursor]


class FormatRow(msgspec.Struct):
    """A line\'s content: `format`."""

    version: str


class LeanRow(msgspec.Struct, frozen=True):
    """A line\'s content: `lean`."""

    version: str = ""


class MetaRow(msgspec.Struct):
    """A line\'s content: `meta`."""

    format: FormatRow
    lean: LeanRow = msgspec.field(default_factory=LeanRow)


class Line(
    msgspec.Struct,
    forbid_unknown_fields=True,
    rename={
        "in_": "in",
        "str_": "str",
        "forall": "forallE",
        "let": "letE",
        "nat": "natVal",
        "string": "strVal",
        "definition": "def",
    },
):
    """Any line: an id field or none, and one content field."""

    in_: int | None = None
    il: int | None = None
    ie: int | None = None
    str_: StrRow | None = None
    num: NumRow | None = None
    succ: int | None = None
    max: tuple[int, int] | None = None
    imax: tuple[int, int] | None = None
    param: int | None = None
    bvar: int | None = None
    sort: int | None = None
    const: ConstRow | None = None
    app: AppRow | None = None
    lam: BinderRow | None = None
    forall: BinderRow | None = None
    let: LetRow | None = None
    proj: ProjRow | None = None
    nat: str | None = None
    string: str | None = None
    mdata: MdataRow | None = None
    meta: MetaRow | None = None
    axiom: Axiom | None = None
    definition: Definition | list[Definition] | None = None
    thm: Theorem | list[Theorem] | None = None
    opaque: Opaque | list[Opaque] | None = None
    quot: Quot | None = None
    inductive: dict[str, Any] | None = None
