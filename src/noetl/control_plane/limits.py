"""The bounds of the server's shell, by name."""

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Counts are bounds; times are seconds."""

    waiting_max: int = 10_000
    """Commands that may wait in all; beyond it callers are told to come back."""

    letters_max: int = 500
    """Commands of one execution that are decided together."""

    group_max: int = 100
    """Executions in one commit."""

    commits_max: int = 2
    """Commits under way at once."""

    tries_max: int = 8
    """How often a command is carried to a store that does not answer, or where someone else was faster."""

    warm_max: int = 1_000
    """Executions whose state is kept in memory."""

    snapshot_every: int = 2_000
    """Events between two snapshots of a state."""

    read_max: int = 1_000
    """Events, messages or timers read at once."""

    shelf_bytes_max: int = 64 * 1024 * 1024
    """Stored collections kept at hand."""

    poll_s: float = 1.0
    """How long a poll relies on being woken: another server may have offered work."""

    sweep_s: float = 1.0
    """Between two looks at leases, timers and messages that nobody told us of."""

    leap_s: float = 5.0
    """A sweep that comes so much later than it should tells that the server stood still, or that its clock leapt."""

    renew_s: float = 15.0
    """After that no lease is ended for so long, which is longer than workers take between two heartbeats."""

    inspect_s: float = 60.0
    """Between two looks at whether everything that lives has a reason to."""

    collect_grace_s: float = 24 * 3600.0
    """How long a stored object is left alone that no event refers to. It is longer than any commit takes, and than
    clocks differ."""

    collect_every_s: float = 24 * 3600.0
    """From the beginning of one search for such objects to that of the next."""

    collect_look_s: float = 600.0
    """Between two looks at whether it is time for that."""

    collect_after_s: float = 0.5
    """Before the first such look."""

    collect_last_s: float = 0.1
    """How long a server looks at its end that had no time for one."""

    collect_digits: int = 2
    """A search goes part by part, by so many first digits of the objects' names: memory is bounded by one part."""

    retry_after_s: float = 1.0
    """When to come back, for those who were turned away."""

    backoff_s: float = 0.05
    """Before the first new try at a store that did not answer; it doubles."""

    drain_s: float = 5.0
    """How long a server that stops waits for what is not answered yet."""
