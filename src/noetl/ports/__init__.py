"""What the shells need from outside, and what they say to each other. Adapters stand in `storage`, `tools`, `client`.

Ports are asynchronous where real ones wait. Records travel as they are between processes, so all of them are frozen.
"""

from noetl.ports.dispatch import Claim, ControlPlane, LeaseReport, Loop, Poll, Told
from noetl.ports.store import (
    ENDED,
    Append,
    Appended,
    Ask,
    Conflict,
    EventLog,
    Expired,
    Fenced,
    Granted,
    Held,
    Holds,
    Incidents,
    LogChunk,
    Logs,
    Message,
    Revoked,
    Store,
    Summary,
    Timer,
    WorkQueue,
)
from noetl.ports.supplies import Catalog, Collected, Credentials, Deposit, Registered, ResultStore
from noetl.ports.system import Chance, Clock, System
from noetl.ports.tools import Console, Tool, ToolCall
from noetl.ports.trouble import Busy, Damaged, Unavailable

__all__ = [
    "ENDED",
    "Append",
    "Appended",
    "Ask",
    "Busy",
    "Catalog",
    "Chance",
    "Claim",
    "Clock",
    "Collected",
    "Conflict",
    "Console",
    "ControlPlane",
    "Credentials",
    "Damaged",
    "Deposit",
    "EventLog",
    "Expired",
    "Fenced",
    "Granted",
    "Held",
    "Holds",
    "Incidents",
    "LeaseReport",
    "LogChunk",
    "Logs",
    "Loop",
    "Message",
    "Poll",
    "Registered",
    "ResultStore",
    "Revoked",
    "Store",
    "Summary",
    "System",
    "Timer",
    "Told",
    "Tool",
    "ToolCall",
    "Unavailable",
    "WorkQueue",
]
