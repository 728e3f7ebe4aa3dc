"""Knobs: what a `spec` may hold at any level, merged from the executor down to the task."""

from noetl.playbook.shape import Either, Field, Nested, Number, Shape, Text, Value, Values, shape

DATA = Values(is_template=False)

SECONDS = Number(exclusive=True)

COUNT = Number(minimum=1, integer=True)

TIMEOUT = shape(
    "timeout",
    "Time limits in seconds.",
    [
        Field("connect", SECONDS, "Seconds to get a connection."),
        Field("read", SECONDS, "Seconds to wait for the next bytes."),
        Field("total", SECONDS, "Seconds in all."),
    ],
)

RESULT = shape(
    "result",
    "How results are kept.",
    [
        Field("inline_max_bytes", COUNT, "Larger data is stored and travels as a reference; 65536, which is the most."),
        Field("select", Values(), "Small fields to lift out of large data, by name, for guards."),
        Field("store", DATA, "Where large results are stored.", inert=True),
        Field("ttl", Text(lenient=True, is_duration=True), "How long a stored result is kept, such as `24h`."),
        Field("compression", Text(), "How stored results are compressed.", inert=True),
    ],
)

LIMITS = shape(
    "limits",
    "Bounds on what a run may use.",
    [
        Field("task_runs_max", COUNT, "The most tasks one pipeline may run."),
        Field("ctx_bytes_max", COUNT, "The most bytes `ctx` may hold."),
    ],
)

_CTX_BYTES, _TASK_RUNS = LIMITS.fields["ctx_bytes_max"], LIMITS.fields["task_runs_max"]
_NOT_HERE = (
    Field(_CTX_BYTES.name, _CTX_BYTES.type, _CTX_BYTES.doc, inert=True, elsewhere="`executor.spec.limits`"),
    Field(_TASK_RUNS.name, _TASK_RUNS.type, _TASK_RUNS.doc, inert=True, elsewhere="the `spec.limits` of the step"),
)
STEP_LIMITS = shape(LIMITS.title, LIMITS.doc, [_TASK_RUNS, _NOT_HERE[0]])
TASK_LIMITS = shape(LIMITS.title, LIMITS.doc, _NOT_HERE)

KNOBS: tuple[Field, ...] = (
    Field("timeout", Either((SECONDS, Nested(lambda: TIMEOUT))), "Seconds one task run may take."),
    Field("result", Nested(lambda: RESULT), "How results are kept."),
    Field("limits", Nested(lambda: LIMITS), "Bounds on what a run may use."),
    Field("pool", Text(), "The worker pool that should run this."),
    Field("resources", DATA, "Hints on resources.", inert=True),
    Field("sandbox", DATA, "Hints on isolation.", inert=True),
    Field("tracing", DATA, "Tracing defaults.", inert=True),
    Field("telemetry", DATA, "Telemetry defaults.", inert=True),
    Field("lease", DATA, "Hints on leases.", inert=True),
    Field("set", Value(), "`set` never stands under `spec`.", rule="NOE402"),
)


def _knobs(limits: Shape) -> tuple[Field, ...]:
    """The knobs of a place where fewer limits have an effect."""
    own = Field("limits", Nested(lambda: limits), "Bounds on what a run may use.")
    return tuple(own if field.name == own.name else field for field in KNOBS)


STEP_KNOBS, TASK_KNOBS = _knobs(STEP_LIMITS), _knobs(TASK_LIMITS)
