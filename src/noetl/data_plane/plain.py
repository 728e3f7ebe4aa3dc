"""The edge at which what tools answer comes in: from here on it is JSON, and not too deep for what works on it."""

import msgspec

from noetl.engine.depth import TOO_DEEP, is_too_deep
from noetl.engine.output import Output, failed
from noetl.engine.reference import decode_value, encode_value


class _TooDeep(Exception):
    """Data that nobody could go down into."""


def plain(output: Output) -> Output:
    """The output as JSON gives it back, so that what is in hand is what is recorded."""
    try:
        data, blocks = _plain(output.data), _plain(output.blocks)
        error = output.error
        if error is not None and error.details is not None:
            error = msgspec.structs.replace(error, details=_plain(error.details))
    except (_TooDeep, RecursionError):
        return failed("response", f"the tool answered with data that is {TOO_DEEP}")
    except (TypeError, ValueError) as found:
        return failed("input", f"the tool answered with something that is not JSON: {found}")
    assert isinstance(blocks, dict)
    return msgspec.structs.replace(output, data=data, blocks=blocks, error=error)


def _plain(value: object) -> object:
    data = encode_value(value)
    found = decode_value(data)
    if is_too_deep(found, data):
        raise _TooDeep
    return found
