import base64
from hashlib import sha256

import pytest

from noetl.engine.output import Output, Status
from noetl.engine.reference import External, Reference, ReferenceMeta, encode_value
from noetl.engine.size import Blob
from noetl.storage.memory import MemoryResults, MemoryStore
from noetl.system import RealSystem
from noetl.tools.resolve import Resolve
from tests.tools.serving import Quiet, call_of, said


async def resolved(results: MemoryResults, ref: object, range_: object = None) -> Output:
    tool = Resolve(results, MemoryStore(RealSystem()))
    output = await tool.run(call_of({"ref": ref, "range": range_}, "resolve"), Quiet())
    await tool.close()
    return output


async def stored(
    results: MemoryResults, data: bytes, content_type: str = "application/json", **more: object
) -> Reference:
    name = sha256(data).hexdigest()
    await results.put([Blob(name, data)])
    return Reference("blob", {"sha256": name, **more}, meta=ReferenceMeta(content_type, len(data), name))


async def test_stored_data_comes_back_with_all_that_is_stored_inside_it() -> None:
    results = MemoryResults()
    inner = await stored(results, encode_value(["deep"]))
    own = Reference("blob", {"sha256": "kept"})
    ref = await stored(results, encode_value({"a": External(inner), "own_ref": own, "$noetl": "ref"}))
    output = await resolved(results, ref)
    assert output == Output(data={"a": ["deep"], "own_ref": own, "$noetl": "ref"})


async def test_what_came_from_outside_stays_data_whatever_it_looks_like() -> None:
    results = MemoryResults()
    ref = await stored(results, b'[{"$noetl": "data", "reference": 1}]', raw=True)
    assert (await resolved(results, ref)).data == [{"$noetl": "data", "reference": 1}]


@pytest.mark.parametrize(
    ("content_type", "data", "value"),
    [
        ("application/json", b"\xef\xbb\xbf[1]", [1]),
        ("application/json; charset=iso-8859-1", b'["\xe9"]', ["é"]),
        ("application/json", b" ", None),
        ("text/plain", b"\xe9", "é"),
        ("text/plain; charset=utf-16", "é".encode("utf-16"), "é"),
        ("text/csv; charset=nonsense", b"a,b", "a,b"),
    ],
)
async def test_what_came_from_outside_is_read_in_its_charset(content_type: str, data: bytes, value: object) -> None:
    results = MemoryResults()
    output = await resolved(results, await stored(results, data, content_type, raw=True))
    assert (output.status, output.data) == (Status.OK, value)


async def test_what_is_called_json_and_is_not_is_an_error_and_can_be_read_as_bytes() -> None:
    results = MemoryResults()
    ref = await stored(results, b"<h1>oops</h1>", raw=True)
    kind, retryable, message = said(await resolved(results, ref))
    assert (kind, retryable) == ("response", False)
    assert "the stored data is called application/json and is not JSON" in message
    assert (await resolved(results, ref, {"unit": "bytes"})).data == "<h1>oops</h1>"


@pytest.mark.parametrize(("charset", "text"), [("", "\ufffd"), ("; charset=latin-1", "\xa9"), ("; charset=?", "\xa9")])
async def test_a_range_may_cut_a_character_in_two(charset: str, text: str) -> None:
    results = MemoryResults()
    ref = await stored(results, "é".encode(), f"text/plain{charset}", raw=True)
    assert (await resolved(results, ref, [1, 2])).data == text


@pytest.mark.parametrize(
    ("range_", "data"),
    [
        ([1, 3], [1, 2]),
        ({"start": 3}, [3, 4]),
        ({"stop": 2}, [0, 1]),
        ({"start": 9}, []),
        ({"start": 1, "stop": 4, "unit": "bytes"}, "0,1"),
    ],
)
async def test_a_range_of_a_list_is_of_items_unless_bytes_are_asked_for(range_: object, data: object) -> None:
    results = MemoryResults()
    ref = await stored(results, b"[0,1,2,3,4]")
    assert (await resolved(results, ref, range_)).data == data


async def test_only_the_items_that_are_asked_for_are_put_together() -> None:
    results = MemoryResults()
    parts = [External(Reference("blob", {"sha256": "gone"})), External(await stored(results, b'["deep"]'))]
    ref = await stored(results, encode_value([*parts, {"$noetl": 1}]))
    assert (await resolved(results, ref, [1, 3])).data == [["deep"], {"$noetl": 1}]


async def test_bytes_of_a_value_are_those_that_others_see() -> None:
    results = MemoryResults()
    ref = await stored(results, encode_value([External(await stored(results, b'"deep"')), {"$noetl": 1}]))
    assert (await resolved(results, ref, {"unit": "bytes"})).data == '["deep",{"$noetl":1}]'
    assert (await resolved(results, ref, {"start": 2, "stop": 6, "unit": "bytes"})).data == "deep"
    text = await stored(results, b'"one two"')
    assert (await resolved(results, text, {"start": 4, "unit": "bytes"})).data == "two"


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-16"])
async def test_a_range_of_what_came_from_outside_is_of_its_items(content_type: str) -> None:
    results = MemoryResults()
    data = '[1, "é", 3]'.encode("utf-16" if "16" in content_type else "utf-8")
    ref = await stored(results, data, content_type, raw=True)
    assert (await resolved(results, ref, [1, 9])).data == ["é", 3]


@pytest.mark.parametrize("data", [b"[1, 2", b"[1,,2]", b"<h1>", b"[1, x]"])
async def test_a_range_of_what_is_not_json_is_an_error(data: bytes) -> None:
    results = MemoryResults()
    output = await resolved(results, await stored(results, data, raw=True), [1, 3])
    assert said(output)[:2] == ("response", False)
    assert "is not JSON" in said(output)[2]


async def test_a_range_of_damaged_data_is_never_given() -> None:
    results = MemoryResults()
    ref = await stored(results, b"[1, 2]")
    await results.put([Blob(str(ref.meta.sha256), b"[1, 3]")])
    assert said(await resolved(results, ref, [0, 1]))[:2] == ("checksum_mismatch", False)


@pytest.mark.parametrize(
    ("content_type", "range_", "data"),
    [
        ("text/plain", None, "hello"),
        ("text/plain; charset=utf-8", [1, 3], "el"),
        ("application/zip", None, base64.b64encode(b"hello").decode()),
        ("application/zip", {"start": 3}, base64.b64encode(b"lo").decode()),
    ],
)
async def test_text_comes_as_it_is_and_bytes_in_base64(content_type: str, range_: object, data: str) -> None:
    results = MemoryResults()
    assert (await resolved(results, await stored(results, b"hello", content_type), range_)).data == data


async def test_data_that_is_gone_may_come_back() -> None:
    output = await resolved(MemoryResults(), Reference("blob", {"sha256": "gone"}))
    assert said(output)[:2] == ("reference_not_available", True)
    assert "is not in the result store" in said(output)[2]


async def test_data_that_was_kept_for_a_time_does_not_come_back() -> None:
    ref = Reference("blob", {"sha256": "gone"}, meta=ReferenceMeta(sha256="gone", ttl="24h"))
    output = await resolved(MemoryResults(), ref)
    assert said(output)[:2] == ("reference_not_available", False)
    assert "was kept for 24h" in said(output)[2]


async def test_damaged_data_is_never_given() -> None:
    results = MemoryResults()
    ref = await stored(results, b"[1]")
    await results.put([Blob(str(ref.meta.sha256), b"[2]")])
    output = await resolved(results, ref)
    assert (output.status, output.data) == (Status.ERROR, None)
    assert said(output)[:2] == ("checksum_mismatch", False)


@pytest.mark.parametrize(
    ("ref", "range_", "message"),
    [
        ({"locator": {}}, None, "must be a reference, such as `output.ref` of a task or step, and is a mapping"),
        (Reference("nats", {}), None, "`ref` is of type 'nats'; this runtime has blob and relational references"),
        (Reference("blob", {}), [2, 1], "`range` needs 0 <= start <= stop"),
        (Reference("blob", {}), [-1, 1], "`range` needs 0 <= start <= stop"),
        (Reference("blob", {}), {"unit": "miles"}, "`unit` is items or bytes"),
        (Reference("blob", {}), "1-2", "`range` must be [start, stop] or a mapping"),
        (Reference("blob", {}), [1], "`range` must be [start, stop] or a mapping"),
        (Reference("blob", {}, meta=ReferenceMeta("text/plain")), {"unit": "items"}, "`range` is of bytes here"),
    ],
)
async def test_what_cannot_be_resolved_is_told(ref: object, range_: object, message: str) -> None:
    output = await resolved(MemoryResults(), ref, range_)
    assert said(output)[:2] == ("input", False)
    assert message in said(output)[2]


async def test_only_a_list_has_items() -> None:
    results = MemoryResults()
    wanted = {"stop": 1, "unit": "items"}
    outputs = [await resolved(results, await stored(results, data), wanted) for data in (b'{"a": 1}', b'"a"', b"1")]
    for output, word in zip(outputs, ("a mapping", "text", "a number"), strict=True):
        assert f"`range` is of the items of a list, and the data is {word};" in said(output)[2]


@pytest.mark.parametrize(("raw", "charset"), [(False, ""), (True, ""), (True, "; charset=utf-16")])
async def test_a_range_of_a_text_is_of_its_bytes(raw: bool, charset: str) -> None:
    results = MemoryResults()
    data = '"one tw\u00f6"'.encode("utf-16" if charset else "utf-8")
    ref = await stored(results, data, f"application/json{charset}", **({"raw": True} if raw else {}))
    assert (await resolved(results, ref, [0, 3])).data == "one"
    assert (await resolved(results, ref, {"start": 4})).data == "tw\u00f6"


@pytest.mark.parametrize(
    ("content_type", "size", "range_", "told"),
    [
        ("application/zip", 201_326_590, None, "201326590 bytes of application/zip are 268435458 bytes as base64"),
        ("application/zip", 10**12, [1, 201_326_591], "201326590 bytes of application/zip are 268435458 bytes"),
        ("text/plain", 268_435_457, None, "the data is larger than 268435456 bytes"),
        ("application/json", 268_435_457, None, "the data is larger than 268435456 bytes"),
    ],
)
async def test_what_is_known_to_be_too_large_is_refused_before_it_is_read(
    content_type: str, size: int, range_: object, told: str
) -> None:
    """The data is not even there."""
    ref = Reference("blob", {"sha256": "gone"}, meta=ReferenceMeta(content_type, size, "gone"))
    kind, retryable, message = said(await resolved(MemoryResults(), ref, range_))
    assert (kind, retryable) == ("budget_exceeded", False)
    assert message.startswith(told)
    assert "take parts of it with" in message
    assert "`range`" in message


async def test_what_just_fits_is_read() -> None:
    ref = Reference("blob", {"sha256": "gone"}, meta=ReferenceMeta("application/zip", 201_326_589, "gone"))
    assert said(await resolved(MemoryResults(), ref))[0] == "reference_not_available"
    tail = {"start": 10**12 - 3}
    ref = Reference("blob", {"sha256": "gone"}, meta=ReferenceMeta("application/zip", 10**12, "gone"))
    assert said(await resolved(MemoryResults(), ref, tail))[0] == "reference_not_available"


async def test_a_loop_that_no_log_knows_is_not_available() -> None:
    ref = Reference("relational", {"log": "x", "step_run_id": "a#1", "path": []})
    assert said(await resolved(MemoryResults(), ref))[:2] == ("reference_not_available", True)
