"""What the net analysis can say. A finding points at the model's own objects; its wording belongs to the lint rules.

`must` holds in every run that comes there; `may` in some runs, as far as the text tells.
"""

from enum import StrEnum

import msgspec

from noetl.playbook.model import AdmitRule, Arc, Block, Rule, Step, Task


class Certainty(StrEnum):
    MUST = "must"
    MAY = "may"


class NeverReason(StrEnum):
    CONSTANT = "constant"
    """The guard is constantly false."""
    NO_SUCCESS = "no_success"
    """The arc waits for a success and the step's pipeline never ends well."""
    NO_FAILURE = "no_failure"
    """The arc waits for a failure and the step cannot fail."""
    CONTRADICTION = "contradiction"
    """The guard contradicts itself, or compares with a value that does not occur."""


class BoundKind(StrEnum):
    AT_MOST = "at_most"
    UNBOUNDED = "unbounded"
    UNKNOWN = "unknown"
    """It depends on a value that is known only at run time."""


class Bound(msgspec.Struct, frozen=True, gc=False):
    """An upper bound; `value` counts only where `kind` is at_most."""

    kind: BoundKind
    value: float = 0.0


class UnreachableStep(msgspec.Struct, frozen=True):
    """No run comes to the step. `sources` are the steps with an arc to it that is never taken."""

    step: Step
    sources: tuple[Step, ...]
    certainty: Certainty = Certainty.MUST


class ShadowedArc(msgspec.Struct, frozen=True):
    """Whenever the arc could be taken, one of the earlier arcs in `by` is."""

    step: Step
    arc: Arc
    by: tuple[Arc, ...]
    certainty: Certainty = Certainty.MUST


class NeverArc(msgspec.Struct, frozen=True):
    step: Step
    arc: Arc
    reason: NeverReason
    certainty: Certainty = Certainty.MUST


class StepDoneOnLoop(msgspec.Struct, frozen=True):
    """The arc waits for `step.done`; a loop step ends well in `loop.done`. `must`: the arc is never taken."""

    step: Step
    arc: Arc
    certainty: Certainty


class LoopDoneWithoutLoop(msgspec.Struct, frozen=True):
    """The arc waits for `loop.done` of a step that has no loop. `must`: the arc is never taken."""

    step: Step
    arc: Arc
    certainty: Certainty


class ShadowedRule(msgspec.Struct, frozen=True):
    """Whenever the rule could match, one of the earlier rules in `by` does. `task` is None for an admit rule."""

    owner: Step | Block
    task: Task | None
    rule: Rule | AdmitRule
    by: tuple[Rule | AdmitRule, ...]
    certainty: Certainty = Certainty.MUST


class NeverRule(msgspec.Struct, frozen=True):
    """The rule's guard is never true. `task` is None for an admit rule."""

    owner: Step | Block
    task: Task | None
    rule: Rule | AdmitRule
    reason: NeverReason
    certainty: Certainty = Certainty.MUST


class LostToken(msgspec.Struct, frozen=True):
    """After a success no arc is taken, so the branch ends. `arcs` are those meant for a success."""

    step: Step
    arcs: tuple[Arc, ...]
    certainty: Certainty


class EndlessCycle(msgspec.Struct, frozen=True):
    """Steps that follow one another for ever. `must`: only a failure that no arc takes ends the run.

    `may`: a failure that an arc takes leads out. Without `can_fail` nothing but cancelling ends it.
    """

    steps: tuple[Step, ...]
    certainty: Certainty
    can_fail: bool


class MeetWithoutJoin(msgspec.Struct, frozen=True):
    """Two branches of an inclusive fan-out come to one step, which then runs once for each."""

    fan_out: Step
    meeting: Step
    arcs: tuple[Arc, Arc]
    certainty: Certainty = Certainty.MAY


class UnroutedFailure(msgspec.Struct, frozen=True):
    """The `arcs` take some failures of the step, under a condition, and not others."""

    step: Step
    arcs: tuple[Arc, ...]
    certainty: Certainty = Certainty.MAY


class UnroutedFailures(msgspec.Struct, frozen=True):
    """No arc of these steps is written for a failure: a failure there fails the execution."""

    steps: tuple[Step, ...]


class JumpCycle(msgspec.Struct, frozen=True):
    """Tasks that follow one another for ever. `task` and `rule` make the first jump of the cycle.

    `must`: only an error that fails the pipeline ends it. `may`: a rule takes an error out of it.
    """

    owner: Step | Block
    task: Task
    rule: Rule
    cycle: tuple[Task, ...]
    certainty: Certainty


class TasksNeverReached(msgspec.Struct, frozen=True):
    """No way through the pipeline comes to these tasks."""

    owner: Step | Block
    tasks: tuple[Task, ...]
    certainty: Certainty = Certainty.MUST


class WorstCase(msgspec.Struct, frozen=True):
    """What a pipeline can cost, for each iteration where `per_iteration`.

    `attempts` is the most one visit of one task can run; `task` is that task. Where the pipeline `repeats`, a task may
    be visited again by a jump.
    """

    owner: Step | Block
    task: Task
    attempts: int
    task_runs: Bound
    wait_s: Bound
    per_iteration: bool
    repeats: bool = False


class AdmissionNever(msgspec.Struct, frozen=True):
    """The admit rules let no token in."""

    step: Step
    certainty: Certainty = Certainty.MUST


NetFinding = (
    UnreachableStep
    | ShadowedArc
    | NeverArc
    | StepDoneOnLoop
    | LoopDoneWithoutLoop
    | ShadowedRule
    | NeverRule
    | LostToken
    | EndlessCycle
    | MeetWithoutJoin
    | UnroutedFailure
    | UnroutedFailures
    | JumpCycle
    | TasksNeverReached
    | WorstCase
    | AdmissionNever
)
