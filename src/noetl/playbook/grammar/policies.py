"""Policies: admission and failure of a step, placement of a loop, and the rules that steer a task."""

from noetl.playbook.grammar import older
from noetl.playbook.grammar.knobs import COUNT, DATA, SECONDS
from noetl.playbook.model import Backoff, Directive, FailureMode, LoopMode, OnDeny, OnUnmatched, Placement, Reducer
from noetl.playbook.shape import (
    Assignments,
    Choice,
    Field,
    Flag,
    Guard,
    Listing,
    Nested,
    Number,
    Table,
    Text,
    Value,
    Values,
    shape,
)

ADMIT_THEN = shape(
    "admission",
    "Whether the token may enter.",
    [
        Field("allow", Flag(), "true lets the token in.", required=True),
        older.DO,
    ],
)

ADMIT_ELSE = shape(
    "else",
    "What holds when no rule matched.",
    [Field("then", Nested(lambda: ADMIT_THEN), "The answer.", required=True)],
)

ADMIT_RULE = shape(
    "admission rule",
    "One rule: `when` and `then`, or `else`.",
    [
        Field("when", Guard(), "The condition."),
        Field("then", Nested(lambda: ADMIT_THEN), "The answer."),
        Field("else", Nested(lambda: ADMIT_ELSE), "The answer when no rule matched."),
        older.EXPR,
        older.DO,
    ],
)

ADMIT = shape(
    "admit",
    "Which tokens may start the step; the server decides.",
    [
        Field(
            "rules",
            Listing(Nested(lambda: ADMIT_RULE)),
            "Rules, read from the top; the first match decides.",
            required=True,
        ),
        Field(
            "on_deny", Choice(tuple(OnDeny)), "`skip` drops a denied token; `wait` tries again after each ctx change."
        ),
        Field("mode", Text(), "Reserved.", inert=True),
    ],
)

FAILURE = shape(
    "failure",
    "What a failed iteration does to its loop.",
    [
        Field(
            "mode",
            Choice(tuple(FailureMode)),
            "`fail_fast` ends the loop; `best_effort` carries on.",
            required=True,
        )
    ],
)

LIFECYCLE = shape(
    "lifecycle",
    "Time limits of the step run, waits included.",
    [
        Field("timeout_s", SECONDS, "Seconds from the start of the step run."),
        Field("deadline_s", SECONDS, "Seconds from its being scheduled."),
    ],
)

STEP_POLICY = shape(
    "step policy",
    "Admission, failure mode and time limits of a step.",
    [
        Field("admit", Nested(lambda: ADMIT, list_rule="NOE301"), "Which tokens may start the step."),
        Field("failure", Nested(lambda: FAILURE), "What a failed iteration does."),
        Field("lifecycle", Nested(lambda: LIFECYCLE), "Time limits of the step run."),
        Field("emit", DATA, "Reserved.", inert=True),
        Field("tracing", DATA, "Reserved.", inert=True),
        Field("quotas", DATA, "Reserved.", inert=True),
        Field("compensation", DATA, "Reserved.", inert=True),
        older.RULES,
        older.DO,
    ],
)

LOOP_POLICY = shape(
    "loop policy",
    "How iterations are placed and their writes merged.",
    [
        Field("exec", Choice(tuple(Placement)), "`local` keeps the loop on one worker; `distributed` spreads it."),
        Field("reduce", Table(Choice(tuple(Reducer))), "How parallel writes to one `ctx` key become one value."),
        Field("mode", Choice(tuple(LoopMode)), "Another place of `loop.spec.mode`."),
        Field(
            "max_in_flight",
            Number(minimum=1, integer=True, is_template=True),
            "Another place of `loop.spec.max_in_flight`.",
        ),
        Field("ordering", Value(is_template=False), "Reserved.", inert=True),
        Field("backpressure", Value(is_template=False), "Reserved.", inert=True),
        Field("partitioning", Value(is_template=False), "Reserved.", inert=True),
        older.RULES,
        older.DO,
    ],
)

THEN = shape(
    "then",
    "What to do when the rule matches.",
    [
        Field("do", Choice(tuple(Directive)), "The directive.", required=True),
        Field("attempts", COUNT, "For `retry`: runs in total, the first included; 3 when left out."),
        Field("backoff", Choice(tuple(Backoff)), "For `retry`: how the delay grows."),
        Field("delay", Number(is_template=True), "For `retry`: seconds before the next run; 1 when left out."),
        Field("max_delay", Number(), "For `retry`: the longest delay in seconds."),
        Field("jitter", Number(), "For `retry`: up to this many random seconds are added."),
        Field("to", Text(), "For `jump`: the task to go on with."),
        Field("set", Assignments(), "Values to write, after the `set` of the task."),
        Field("set_ctx", Values(), "An older word for `set: ctx.…`.", rule="NOE604"),
        Field("set_iter", Values(), "An older word for `set: iter.…`.", rule="NOE604"),
        Field("set_vars", Value(), "An older word for `set: step.…`.", rule="NOE705"),
        Field("set_prev", Value(), "An older word without a successor.", rule="NOE705"),
        Field("set_shared", Value(), "An older word without a successor.", rule="NOE705"),
    ],
)

ELSE = shape(
    "else",
    "What holds when no rule matched.",
    [
        Field("then", Nested(lambda: THEN), "What to do.", required=True),
        Field("do", Value(), "The directive stands under `then`.", rule="NOE302"),
    ],
)

RULE = shape(
    "rule",
    "One rule: `when` and `then`, or `else`.",
    [
        Field("when", Guard(), "The condition. It sees values from before the `set` of the task."),
        Field("then", Nested(lambda: THEN), "What to do when it holds."),
        Field("else", Nested(lambda: ELSE), "What to do when no rule matched."),
        older.EXPR,
        Field("do", Value(), "The directive stands under `then`.", rule="NOE302"),
    ],
)

TASK_POLICY = shape(
    "task policy",
    "How the task's output decides what comes next.",
    [
        Field("rules", Listing(Nested(lambda: RULE)), "Rules on the output, read from the top.", required=True),
        Field("before", Listing(Nested(lambda: RULE)), "Rules read before the tool runs, on entry."),
        Field("on_unmatched", Choice(tuple(OnUnmatched)), "What happens when no rule matched."),
        Field("mode", Text(), "Reserved.", inert=True),
        Field("after", Value(is_template=False), "Reserved.", inert=True),
        Field("finally", Value(is_template=False), "Reserved.", inert=True),
    ],
)
