"""The bounds of a worker, by name."""

import msgspec

DOUBLINGS_MAX = 16


class Limits(msgspec.Struct, frozen=True):
    """Counts are bounds; times are seconds."""

    slots: int = 10
    """Pipelines that may run at once."""

    prefetch: int = 8
    """Indexes of a loop that may be held for each slot, where they are quick."""

    ahead_s: float = 0.2
    """So much work may be held beforehand for each slot, by what pipelines took lately: others could have it now."""

    lease_s: float = 30.0
    renew_s: float = 10.0
    """Between two heartbeats: a few may be lost before a lease is."""

    margin_s: float = 3.0
    """A worker stops itself so long before a lease it could not renew is over."""

    poll_s: float = 30.0
    tell_after_s: float = 0.2
    """When people see that something started, though nothing has ended yet."""

    patience_s: float = 5.0
    """A delay up to this is waited for here; a longer one is left to a timer and holds no worker."""

    untold_max: int = 5_000
    """Facts that may wait to be reported; beyond it nothing new is begun."""

    report_max: int = 2_000
    """Facts in one report."""

    backoff_s: float = 0.1
    """Before the first new try at a server that did not answer; it doubles up to `backoff_max_s`."""

    backoff_max_s: float = 5.0
    keep_tries_max: int = 100
    """How often a large output is carried to a store that does not answer, before its work is given back."""

    shelf_bytes_max: int = 64 * 1024 * 1024
    """Stored data kept at hand."""

    def backoff_after(self, tries: int) -> float:
        return min(self.backoff_s * 2.0 ** min(tries, DOUBLINGS_MAX), self.backoff_max_s)
