"""The key by which others tell a task that runs again from one that runs anew."""

from hashlib import sha256

from noetl.ports import ToolCall

KEY_CHARS_MAX = 255
"""How long a key may be so that servers take it as a header."""


def idempotency_key(call: ToolCall) -> str:
    """Equal for retries and crash re-runs, and never that of another execution."""
    key = f"{call.execution_id}.{call.key}"
    return key if len(key) <= KEY_CHARS_MAX and key.isascii() else sha256(key.encode()).hexdigest()
