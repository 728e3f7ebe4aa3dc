"""Time and chance. Nothing else reads them."""

import random
import secrets
import time

_RANDOM_BITS = 74


class RealSystem:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def draw(self) -> float:
        return random.random()

    def new_id(self) -> str:
        """An id as of UUID version 7: later ones sort after earlier ones."""
        millis = time.time_ns() // 1_000_000
        drawn = secrets.randbits(_RANDOM_BITS)
        value = millis << 80 | 0x7 << 76 | (drawn >> 62) << 64 | 0b10 << 62 | drawn & (1 << 62) - 1
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
