import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.supply.items import Items, NotAList

values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(alphabet='ab,"\\[]{}é\n', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='k"]}', max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


def cut(data: bytes, start: int, stop: int | None, piece_bytes: int = 3) -> list[object]:
    items = Items(start, stop)
    for at in range(0, len(data), piece_bytes):
        items.feed(data[at : at + piece_bytes])
    return items.of(msgspec.json.decode(items.json(), type=list[object]))


@given(
    found=st.lists(values, max_size=6),
    start=st.integers(0, 7),
    size=st.none() | st.integers(0, 7),
    piece_bytes=st.integers(1, 9),
    indent=st.sampled_from([0, 2, -1]),
)
def test_the_items_are_those_of_the_whole_list_however_it_is_cut_in_pieces(
    found: list[object], start: int, size: int | None, piece_bytes: int, indent: int
) -> None:
    stop = None if size is None else start + size
    data = msgspec.json.format(msgspec.json.encode(found), indent=indent)
    assert cut(data, start, stop, piece_bytes) == found[start:stop]


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf[1,2]", b" \n\t[ 1 , 2 ] ", b"      \r\n     [1,2]"])
def test_what_stands_around_the_list_is_passed_over(data: bytes) -> None:
    assert cut(data, 1, None) == [2]
    assert cut(data, 0, 1, piece_bytes=1) == [1]


def test_only_what_is_wanted_is_kept() -> None:
    items = Items(1, 2)
    for piece in (b'["' + b"x" * 1000, b"x" * 1000 + b'",', b"[1,2]", b',"' + b"y" * 1000, b"y" * 1000 + b'"]'):
        items.feed(piece)
    assert (items.size, items.of(msgspec.json.decode(items.json(), type=list[object]))) == (5, [[1, 2]])


@pytest.mark.parametrize(("data", "first"), [(b'  {"a": 1}', b"{"), (b'"a"', b'"'), (b"<h1>", b"<"), (b"  ", b"")])
def test_what_is_no_list_has_no_items(data: bytes, first: bytes) -> None:
    with pytest.raises(NotAList) as raised:
        cut(data, 0, 1)
    assert raised.value.first == first


@pytest.mark.parametrize(
    ("data", "start", "stop"),
    [(b"[1,2", 0, None), (b"[1,2", 1, 5), (b"[1,2", 7, 9), (b"[1,,2]", 1, 2), (b"[1,2,]", 2, None), (b"[,1]", 0, 1)],
)
def test_a_list_that_breaks_off_or_lacks_an_item_cannot_be_read(data: bytes, start: int, stop: int | None) -> None:
    with pytest.raises(msgspec.DecodeError):
        cut(data, start, stop)


FLAT = ["a,]", 1, {"k": [1, "}"]}, [], None, -2.5, {"t": "}", "u": ["v"]}, "\\", [["x", "y"], 3]]
DEEP = [*FLAT[:-1], {"k": [1, {"deep": [[]]}]}]


@pytest.mark.parametrize("items", [FLAT, DEEP], ids=["flat", "deep"])
@pytest.mark.parametrize("start", [0, 1, 127, 128, 129, 1_000, 2_690, 2_699, 2_700, 2_701, 5_000])
@pytest.mark.parametrize("piece_bytes", [997, 4_096, 100_000])
def test_of_many_items_the_right_ones_are_found(items: list[object], start: int, piece_bytes: int) -> None:
    found = items * 300
    data = msgspec.json.encode(found)
    for size in (0, 1, 128, 300, None):
        stop = None if size is None else start + size
        assert cut(data, start, stop, piece_bytes) == found[start:stop]
