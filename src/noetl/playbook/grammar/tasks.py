"""Tasks as all kinds share them, and the sugar that stands among them."""

from collections.abc import Mapping

from noetl.playbook.grammar.knobs import COUNT, TASK_KNOBS
from noetl.playbook.grammar.policies import TASK_POLICY
from noetl.playbook.shape import (
    Assignments,
    Field,
    Guard,
    Listing,
    Name,
    Nested,
    Pipeline,
    Shape,
    Text,
    Value,
    Values,
    shape,
)

TASK_SPEC_FIELDS: tuple[Field, ...] = (
    Field("policy", Nested(lambda: TASK_POLICY, list_rule="NOE301"), "How the output decides what comes next."),
    *TASK_KNOBS,
)

TASK_NAME = Field("name", Name(), "The task's name, unique in its pipeline.")

TASK_FIELDS: tuple[Field, ...] = (
    TASK_NAME,
    Field("kind", Text(), "The tool.", required=True),
    Field("desc", Text(lenient=True), "What the task is for."),
    Field("auth", Text(is_template=True), "The keychain entry or stored credential to use."),
    Field("set", Assignments(), "Values to write after the rules of the task, unless they say `retry` or `fail`."),
    Field("args", Values(), "An older word for `input`.", rule="NOE602"),
    Field("set_ctx", Values(), "An older word for `set: ctx.…`.", rule="NOE604"),
    Field("set_iter", Values(), "An older word for `set: iter.…`.", rule="NOE604"),
    Field("set_vars", Value(), "An older word for `set: step.…`.", rule="NOE705"),
    Field("set_prev", Value(), "An older word without a successor.", rule="NOE705"),
    Field("set_shared", Value(), "An older word without a successor.", rule="NOE705"),
    Field("eval", Value(), "An older form of `spec.policy.rules`.", rule="NOE701"),
    Field("retry", Value(), "An older form of a retry rule.", rule="NOE709"),
    Field("sink", Value(), "An older form of a storing task.", rule="NOE708"),
    Field("when", Value(), "An older form of a `before` rule.", rule="NOE702"),
    Field("output", Value(), "The runtime writes `output`.", rule="NOE108"),
)

CHOICE_BRANCH = shape(
    "branch",
    "One branch: `when` and `tool`, or `else`.",
    [
        Field("when", Guard(), "The condition."),
        Field("tool", Pipeline(), "The tasks of this branch."),
        Field("else", Nested(lambda: CHOICE_ELSE), "The branch taken when no other is."),
    ],
)

CHOICE_ELSE: Shape = shape(
    "else", "The branch taken when no other is.", [Field("tool", Pipeline(), "The tasks.", required=True)]
)

REPEAT = shape(
    "repetition",
    "Tasks that run again and again.",
    [
        Field("when", Guard(), "The condition.", required=True),
        Field("tool", Pipeline(), "The tasks.", required=True),
        Field("max", COUNT, "The most rounds; past it the pipeline fails."),
    ],
)

SUGAR: Mapping[str, Shape] = {
    "choose": shape(
        "choose",
        "The first branch whose `when` is true runs.",
        [
            Field("name", Name(), "The name; generated tasks begin with it.", required=True),
            Field("choose", Listing(Nested(lambda: CHOICE_BRANCH), items_min=1), "The branches.", required=True),
        ],
    ),
    "while": shape(
        "while",
        "Tasks repeated while a condition holds, tested before each round.",
        [
            Field("name", Name(), "The name; generated tasks begin with it.", required=True),
            Field("while", Nested(lambda: REPEAT), "The condition and the tasks.", required=True),
        ],
    ),
    "until": shape(
        "until",
        "Tasks repeated until a condition holds, tested after each round.",
        [
            Field("name", Name(), "The name; generated tasks begin with it.", required=True),
            Field("until", Nested(lambda: REPEAT), "The condition and the tasks.", required=True),
        ],
    ),
}
