"""Words of older dialects, and words that stand in a wrong place: known, so that a rule can say what to write."""

from noetl.playbook.shape import Field, Value, Values

OF_STEPS_AND_TASKS: tuple[Field, ...] = (
    Field("args", Values(), "An older word for `input`.", rule="NOE602"),
    Field("set_ctx", Values(), "An older word for `set: ctx.…`.", rule="NOE604"),
    Field("set_iter", Values(), "An older word for `set: iter.…`.", rule="NOE604"),
    Field("set_vars", Value(), "An older word for `set: step.…`.", rule="NOE705"),
    Field("set_prev", Value(), "An older word without a successor.", rule="NOE705"),
    Field("set_shared", Value(), "An older word without a successor.", rule="NOE705"),
    Field("eval", Value(), "An older form of `spec.policy.rules`.", rule="NOE701"),
    Field("retry", Value(), "An older form of a retry rule.", rule="NOE709"),
    Field("sink", Value(), "An older form of a storing task.", rule="NOE708"),
)

EXPR = Field("expr", Value(), "An older word for `when`.", rule="NOE701")
OUTPUT = Field("output", Value(), "The runtime writes `output`.", rule="NOE108")

DO = Field("do", Value(), "Directives belong to task policies.", rule="NOE303")
RULES = Field("rules", Value(), "Directives belong to task policies.", rule="NOE303")
