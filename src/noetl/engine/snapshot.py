"""A state as bytes and back, so that a long log need not be folded from its start. Always disposable."""

import msgspec

from noetl.engine.reference import encode_value, has_mark, revive
from noetl.engine.state import STATE_VERSION, State


class _Sealed(msgspec.Struct, frozen=True):
    version: int
    state: msgspec.Raw


_sealed = msgspec.json.Decoder(_Sealed)
_state = msgspec.json.Decoder(State)


def encode_snapshot(state: State) -> bytes:
    return msgspec.json.encode(_Sealed(STATE_VERSION, msgspec.Raw(encode_value(state))))


def decode_snapshot(data: bytes) -> State | None:
    """The state, or None for one of another version or a damaged one: the log is folded anew instead."""
    try:
        sealed = _sealed.decode(data)
        return _unsealed(sealed.state, data) if sealed.version == STATE_VERSION else None
    except msgspec.MsgspecError:
        return None


def _unsealed(state: msgspec.Raw, data: bytes) -> State:
    if not has_mark(data):
        return _state.decode(state)
    return msgspec.convert(revive(msgspec.json.decode(state)), State, str_keys=True)
