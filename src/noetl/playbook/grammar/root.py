"""The document: its head, its executor, its keychain and the playbook as a whole."""

from noetl.playbook.grammar import older
from noetl.playbook.grammar.knobs import COUNT, DATA, KNOBS, LIMITS
from noetl.playbook.grammar.workflow import BLOCK, STEP
from noetl.playbook.model import Placement
from noetl.playbook.shape import Choice, Field, Listing, Nested, Table, Text, Value, shape

API_VERSION = "noetl.io/v2"
API_VERSION_V10 = "noetl.io/v10"

EXECUTOR_LIMITS = shape(
    "limits",
    "Bounds on what an execution may use.",
    [
        Field("max_payload_bytes", COUNT, "Another place of `spec.result.inline_max_bytes`."),
        *LIMITS.fields.values(),
    ],
)

EXECUTOR_POLICY = shape(
    "executor policy",
    "Bounds for the whole execution.",
    [
        Field("limits", Nested(lambda: EXECUTOR_LIMITS), "Bounds on what an execution may use."),
        Field("defaults", DATA, "Reserved.", inert=True),
        Field("results", DATA, "Reserved.", inert=True),
        Field("placement", DATA, "Reserved.", inert=True),
        older.RULES,
        older.DO,
    ],
)

EXECUTOR_SPEC = shape(
    "executor spec",
    "Defaults for all steps and tasks.",
    [
        Field("entry_step", Text(), "The first step; the first of `workflow` when left out."),
        Field("policy", Nested(lambda: EXECUTOR_POLICY, list_rule="NOE301"), "Bounds for the whole execution."),
        *KNOBS,
    ],
    is_open=True,
)

EXECUTOR = shape(
    "executor",
    "Where and how the playbook runs.",
    [
        Field("profile", Choice(tuple(Placement)), "`local` or `distributed`."),
        Field("kind", Choice(tuple(Placement)), "Another name of `profile`."),
        Field("version", Text(lenient=True), "The runtime this playbook was written for."),
        Field("requires", Value(is_template=False), "What the runtime must offer.", inert=True),
        Field("spec", Nested(lambda: EXECUTOR_SPEC), "Defaults for all steps and tasks."),
    ],
)

METADATA = shape(
    "metadata",
    "What the playbook is called.",
    [
        Field("name", Text(lenient=True), "The playbook's name.", required=True),
        Field("path", Text(lenient=True), "Its place in the catalog, such as `team/daily_load`.", required=True),
        Field("version", Text(lenient=True), "Its version."),
        Field("description", Text(lenient=True), "What it is for."),
        Field("tags", Listing(Text(lenient=True)), "Words to find it by."),
        Field("labels", Table(Text(lenient=True)), "Keys and values to find it by."),
    ],
)

KEYCHAIN_FIELDS: tuple[Field, ...] = (
    Field("name", Text(), "The entry's name: `keychain.<name>`.", required=True),
    Field("kind", Text(), "How the value is found.", required=True),
)

KEYCHAIN = shape("keychain entry", "A credential the playbook needs.", KEYCHAIN_FIELDS, is_open=True)

PLAYBOOK = shape(
    "playbook",
    "A NoETL playbook.",
    [
        Field("apiVersion", Text(), "`noetl.io/v2`.", required=True),
        Field("kind", Choice(("Playbook",)), "`Playbook`.", required=True),
        Field("metadata", Nested(lambda: METADATA), "What the playbook is called.", required=True),
        Field("keychain", Listing(Nested(lambda: KEYCHAIN)), "The credentials it needs."),
        Field("executor", Nested(lambda: EXECUTOR), "Where and how it runs."),
        Field("workload", DATA, "Its parameters and their defaults."),
        Field("workflow", Listing(Nested(lambda: STEP), items_min=1), "Its steps.", required=True),
        Field("workbook", Table(Nested(lambda: BLOCK), is_named=True), "Pipelines that tasks call by name."),
        Field("vars", Value(), "An older word.", rule="NOE706"),
    ],
)
