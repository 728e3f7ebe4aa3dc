"""The places in a playbook where templates stand, and the scope words each of them sees."""

from enum import Enum

SCOPE_WORDS = frozenset(
    (
        "workload", "keychain", "ctx", "step", "iter", "input", "args", "output", "outcome", "event",
        "execution_id", "_prev", "_task", "_attempt",
    )
)  # fmt: skip
"""Reserved: no step, task, iterator or workbook block bears one of these names."""

OLD_WORDS = {"outcome": "output", "args": "input"}
"""The v10 spelling of a scope word and today's."""

_EVERYWHERE = frozenset(("workload", "execution_id"))
_SERVER = _EVERYWHERE | {"ctx", "input", "args", "event"}
_AFTER_STEP = _SERVER | {"output", "outcome", "step"}
_WORKER = _EVERYWHERE | {"ctx", "step", "input", "args", "_prev", "_task", "_attempt"}
_AFTER_TASK = _WORKER | {"output", "outcome"}


class Site(Enum):
    """One kind of place: what it is called in messages, the words it sees, and which names beyond them."""

    STEP_INPUT = ("a step's input", _SERVER)
    LOOP_IN = ("loop.in", _SERVER)
    MAX_IN_FLIGHT = ("max_in_flight", _SERVER)
    ADMIT_WHEN = ("an admission rule's when", _SERVER)
    STEP_SET = ("a step's set", _AFTER_STEP)
    ARC_WHEN = ("an arc's when", _AFTER_STEP)
    ARC_SET = ("an arc's set", _AFTER_STEP)
    ARC_ARGS = ("an arc's args", _AFTER_STEP)
    TASK_INPUT = ("a task's input", _WORKER | {"keychain"})
    CALL_INPUT = ("the input of a call", _WORKER)
    WORKBOOK_INPUT = ("a workbook block's input", _WORKER)
    BEFORE_WHEN = ("a before rule's when", _AFTER_TASK)
    BEFORE_SET = ("a before rule's set", _AFTER_TASK)
    RULE_WHEN = ("a rule's when", _AFTER_TASK)
    RULE_SET = ("a rule's set", _AFTER_TASK)
    TASK_SET = ("a task's set", _AFTER_TASK)
    SELECT = ("spec.result.select", _AFTER_TASK)
    DELAY = ("a rule's delay", _AFTER_TASK)
    KEYCHAIN_FIELD = ("a keychain entry", _EVERYWHERE)

    def __init__(self, title: str, words: frozenset[str]) -> None:
        self.title = title
        self.words = words

    @property
    def is_worker_side(self) -> bool:
        return "_prev" in self.words

    @property
    def sees_tasks(self) -> bool:
        """Whether the tasks of the pipeline are names here."""
        return self.is_worker_side

    @property
    def sees_steps(self) -> bool:
        """Whether finished steps are names here."""
        return self is not Site.KEYCHAIN_FIELD

    @property
    def sees_iterators(self) -> bool:
        """Whether `iter`, and an iterator by its bare name, can be read here inside a loop."""
        return self.is_worker_side or self is Site.LOOP_IN

    @property
    def allows_keychain(self) -> bool:
        return "keychain" in self.words

    @property
    def is_guard(self) -> bool:
        return self.name.endswith("_WHEN")


def visible(site: Site, *, in_loop: bool) -> frozenset[str]:
    """The scope words a template at this site may read. For LOOP_IN, `in_loop` means the `in` of a nested loop."""
    return site.words | {"iter"} if in_loop and site.sees_iterators else site.words
