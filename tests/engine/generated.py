"""Any record of the engine, generated from its types, with data that does its best to pass for something else."""

import msgspec
from hypothesis import strategies as st
from msgspec import inspect as shapes

from noetl.engine import events as e
from noetl.engine.envelope import NAMES
from noetl.engine.reference import MARK, External, Reference, ReferenceMeta

KEYS = st.one_of(
    st.sampled_from(
        [MARK, f"${MARK}", f"$${MARK}", f"{MARK}x", f"x{MARK}", "reference", "ref", "data", "lifted", "type"]
    ),
    st.text(max_size=4),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from([MARK, "ref", "data", f'{MARK}":'.strip(":")]),
)


def references(data: st.SearchStrategy[object]) -> st.SearchStrategy[Reference]:
    return st.builds(
        Reference,
        st.sampled_from(["blob", "relational", "nats", "object_store"]),
        st.dictionaries(KEYS, data, max_size=2),
        st.none() | st.text(max_size=4),
        st.builds(ReferenceMeta, bytes=st.integers(0, 10**9), sha256=st.none() | st.text(max_size=4)),
    )


def externals(data: st.SearchStrategy[object]) -> st.SearchStrategy[External]:
    return st.builds(External, references(data), st.dictionaries(KEYS, data, max_size=2))


def hostile_data() -> st.SearchStrategy[object]:
    def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
        return st.one_of(
            st.dictionaries(KEYS, inner, max_size=3), st.lists(inner, max_size=3), references(inner), externals(inner)
        )

    return st.recursive(SCALARS, nested, max_leaves=6)


DATA = hostile_data()


def record(type_: type, data: st.SearchStrategy[object] = DATA) -> st.SearchStrategy[object]:
    return _of(shapes.type_info(type_), data, 0)


def facts(data: st.SearchStrategy[object] = DATA) -> st.SearchStrategy[e.Fact]:
    return st.sampled_from(sorted(NAMES, key=lambda type_: type_.__name__)).flatmap(
        lambda type_: record(type_, data)  # type: ignore[arg-type, return-value]
    )


def _of(shape: shapes.Type, data: st.SearchStrategy[object], depth: int) -> st.SearchStrategy[object]:
    match shape:
        case shapes.CustomType():
            return data
        case shapes.NoneType():
            return st.none()
        case shapes.BoolType():
            return st.booleans()
        case shapes.IntType():
            return st.integers(0, 2**40)
        case shapes.FloatType():
            return st.floats(0, 1e10)
        case shapes.StrType():
            return st.text("abcdefgh#.$", max_size=6)
        case shapes.EnumType():
            return st.sampled_from(list(shape.cls))
        case shapes.StructType():
            return _struct(shape, data, depth)
        case shapes.UnionType():
            return _union(shape, data, depth)
        case _:
            return _collection(shape, data, depth)


def _struct(shape: shapes.StructType, data: st.SearchStrategy[object], depth: int) -> st.SearchStrategy[object]:
    if shape.cls is Reference:
        return references(data)
    if shape.cls is External:
        return externals(data)
    return st.builds(shape.cls, **{field.name: _of(field.type, data, depth + 1) for field in shape.fields})


def _union(shape: shapes.UnionType, data: st.SearchStrategy[object], depth: int) -> st.SearchStrategy[object]:
    """Deep inside, the simplest alternative: records may hold records of their own kind."""
    kinds = sorted(shape.types, key=lambda kind: not isinstance(kind, shapes.NoneType))
    return st.one_of([_of(kind, data, depth) for kind in (kinds if depth < 4 else kinds[:1])])


def _collection(shape: shapes.Type, data: st.SearchStrategy[object], depth: int) -> st.SearchStrategy[object]:
    most = 2 if depth < 4 else 0
    match shape:
        case shapes.DictType():
            keys: st.SearchStrategy[object] = KEYS
            if isinstance(shape.key_type, shapes.IntType):
                keys = st.integers(0, 9)
            return st.dictionaries(keys, _of(shape.value_type, data, depth + 1), max_size=most)
        case shapes.ListType():
            return st.lists(_of(shape.item_type, data, depth + 1), max_size=most)
        case shapes.VarTupleType():
            return st.lists(_of(shape.item_type, data, depth + 1), max_size=most).map(tuple)
        case _:
            raise AssertionError(f"no values for {shape}")


def as_read(value: object) -> object:
    """Records as plain data, in which references and mappings that only look like them differ."""
    if isinstance(value, msgspec.Struct):
        return (type(value).__name__, {name: as_read(getattr(value, name)) for name in value.__struct_fields__})
    if isinstance(value, dict):
        return {key: as_read(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_read(item) for item in value]
    return value
