"""Steps, loops, routing and workbook blocks."""

from noetl.playbook.grammar import older
from noetl.playbook.grammar.knobs import DATA, STEP_KNOBS
from noetl.playbook.grammar.policies import LOOP_POLICY, STEP_POLICY
from noetl.playbook.model import Join, LoopMode, RouteMode
from noetl.playbook.shape import (
    Assignments,
    Choice,
    Field,
    Guard,
    Listing,
    Name,
    Nested,
    Number,
    Pipeline,
    Shape,
    Text,
    Value,
    Values,
    shape,
)

STEP_SPEC = shape(
    "step spec",
    "Knobs and policies of a step.",
    [
        Field(
            "join",
            Choice(tuple(Join)),
            "`each`: every token runs the step. `all`: it waits for all that can still come.",
        ),
        Field("policy", Nested(lambda: STEP_POLICY, list_rule="NOE301"), "Admission, failure mode, time limits."),
        *STEP_KNOBS,
        Field("next_mode", Value(), "An older place of `next.spec.mode`.", rule="NOE704"),
    ],
    is_open=True,
)

LOOP_SPEC = shape(
    "loop spec",
    "How the iterations run.",
    [
        Field("mode", Choice(tuple(LoopMode)), "`sequential`, one at a time in order, or `parallel`."),
        Field(
            "max_in_flight",
            Number(minimum=1, integer=True, is_template=True),
            "The most iterations at once; 10 when left out.",
        ),
        Field("policy", Nested(lambda: LOOP_POLICY, list_rule="NOE301"), "Placement and reducers."),
        *STEP_KNOBS,
    ],
    is_open=True,
)

LOOP: Shape = shape(
    "loop",
    "Runs the step's tasks once for each element of a list.",
    [
        Field("in", Value(), "The list.", required=True),
        Field("iterator", Name(), "The element's name: `iter.<iterator>`.", required=True),
        Field("spec", Nested(lambda: LOOP_SPEC), "How the iterations run."),
        Field("loop", Nested(lambda: LOOP), "A loop inside each iteration."),
    ],
)

ARC = shape(
    "arc",
    "A way to another step.",
    [
        Field("step", Text(), "The step to go to.", required=True),
        Field("when", Guard(), "The condition. Without it the arc is taken on success only."),
        Field("set", Assignments(), "Values to write when the arc is taken."),
        Field("args", Values(), "An older way to hand values on.", rule="NOE605"),
        Field("spec", DATA, "Reserved.", inert=True),
        older.EXPR,
        older.DO,
        Field("input", Value(), "Arcs carry no input.", rule="NOE211"),
    ],
)

NEXT_SPEC = shape(
    "next spec",
    "How arcs are chosen.",
    [
        Field(
            "mode",
            Choice(tuple(RouteMode)),
            "`exclusive`: the first that matches. `inclusive`: all that match.",
        ),
        Field("policy", DATA, "Reserved.", inert=True),
        Field("set", Value(), "`set` never stands under `spec`.", rule="NOE402"),
        older.DO,
    ],
)

NEXT = shape(
    "next",
    "Where the token goes.",
    [
        Field("spec", Nested(lambda: NEXT_SPEC), "How arcs are chosen."),
        Field("arcs", Listing(Nested(lambda: ARC)), "The ways to other steps.", required=True),
        Field("mode", Value(), "The mode stands under `spec`.", rule="NOE704"),
    ],
)

STEP = shape(
    "step",
    "A node of the workflow: admission, tasks, routing.",
    [
        Field("step", Name(), "The step's name, unique in the playbook.", required=True),
        Field("desc", Text(lenient=True), "What the step is for."),
        Field("spec", Nested(lambda: STEP_SPEC), "Knobs and policies."),
        Field("input", Values(), "Values bound when the step is scheduled."),
        Field("loop", Nested(lambda: LOOP), "Runs the tasks once for each element of a list."),
        Field("tool", Pipeline(), "The task, or the tasks in order."),
        Field("set", Assignments(), "Values to write after success, before the arcs."),
        Field("next", Nested(lambda: NEXT, list_rule="NOE703"), "Where the token goes."),
        *older.OF_STEPS_AND_TASKS,
        Field("next_mode", Value(), "An older place of `next.spec.mode`.", rule="NOE704"),
        Field("when", Value(), "An older form of admission.", rule="NOE702"),
        Field("vars", Value(), "An older word for `set: step.…`.", rule="NOE706"),
        Field("case", Value(), "An older form of routing.", rule="NOE707"),
        Field("pipe", Value(), "An older word for `tool`.", rule="NOE710"),
        older.OUTPUT,
    ],
)

BLOCK = shape(
    "workbook block",
    "A pipeline that tasks of `kind: workbook` call by name.",
    [
        Field("desc", Text(lenient=True), "What the block is for."),
        Field("input", Values(), "Defaults of the values a caller may give."),
        Field("loop", Nested(lambda: LOOP), "Runs the tasks once for each element of a list."),
        Field("tool", Pipeline(), "The task, or the tasks in order.", required=True),
        older.OUTPUT,
    ],
)
