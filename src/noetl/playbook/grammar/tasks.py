"""Tasks as all kinds share them, and the sugar that stands among them."""

from collections.abc import Mapping

from noetl.playbook.grammar import older
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
    *older.OF_STEPS_AND_TASKS,
    Field("when", Value(), "An older form of a `before` rule.", rule="NOE702"),
    older.OUTPUT,
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
