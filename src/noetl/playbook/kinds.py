"""What each tool kind takes, as data: parsing, lint, schema and documentation follow from these specs.

A kind that calls something of the author's (`is_callee`) has its body on the task, and its `input` is
what the callee receives. For all others the fields stand on the task or under `input`.
"""

from collections.abc import Mapping

import msgspec

from noetl.playbook.shape import (
    Choice,
    Either,
    Field,
    Flag,
    Listing,
    Nested,
    Number,
    Text,
    Value,
    Values,
    shape,
)


class Kind(msgspec.Struct, frozen=True):
    """`one_of`: groups of fields of which exactly one is given. `texts`: fields that are never templates.

    `sql` and `aliases` are for the linter: which field holds a statement, and which word is another's second name.
    `blocks` is what the kind adds to its outputs: the name of each block, and the words in it where they are known.
    Where a tool had no say, the words stand for null, or for what `blanks` says.
    """

    name: str
    doc: str
    fields: Mapping[str, Field]
    knobs: Mapping[str, Field] = {}
    is_callee: bool = False
    one_of: tuple[tuple[str, ...], ...] = ()
    texts: tuple[str, ...] = ()
    sql: tuple[str, ...] = ()
    aliases: Mapping[str, str] = {}
    blocks: Mapping[str, tuple[str, ...]] = {}
    blanks: Mapping[str, object] = {}

    def empty_blocks(self) -> dict[str, object]:
        return {name: {word: self.blanks.get(word) for word in words} for name, words in self.blocks.items()}


def _by_name(*fields: Field) -> dict[str, Field]:
    return {field.name: field for field in fields}


_TEXT = Text(is_template=True)
_CODE = Text()
_SECONDS = Number(exclusive=True)

_HTTP_TIMEOUT = shape(
    "timeout",
    "Time limits of one request, in seconds.",
    [
        Field("connect", _SECONDS, "Seconds to get a connection."),
        Field("read", _SECONDS, "Seconds to wait for the next bytes."),
        Field("total", _SECONDS, "Seconds for the whole request."),
    ],
)

_MEMORY = Field("memory_bytes_max", Number(integer=True, minimum=1), "The most memory a process may use; 4 GiB.")
_OPEN_FILES = Field("open_files_max", Number(integer=True, minimum=16), "The most files a process may have open; 1024.")

_NO_TIMEOUT = Field(
    "timeout",
    _SECONDS,
    "The step's `spec.policy.lifecycle.timeout_s` bounds a call.",
    inert=True,
    elsewhere="the tasks of the block; `spec.policy.lifecycle.timeout_s` bounds the whole step",
)

_NOOP = Kind("noop", "Does nothing. A place for rules and `set`.", {})

_HTTP = Kind(
    "http",
    "One HTTP request.",
    _by_name(
        Field("url", _TEXT, "The address to call.", required=True),
        Field("method", _TEXT, "The request method; GET when left out."),
        Field("params", Value(), "Query parameters."),
        Field("headers", Values(), "Request headers."),
        Field("json", Value(), "The body, sent as JSON."),
        Field("data", Value(), "The body: text as it is, a mapping as a form."),
        Field("form", Values(), "The body, sent as a form."),
        Field("files", Values(), "Files of a multipart form."),
        Field("body", Value(), "The body as text or bytes, sent as it is."),
        Field(
            "response",
            Choice(("auto", "json", "text", "bytes", "stored")),
            "How to read the answer; by content type when left out. `stored` keeps it as it comes, for `output.ref`.",
        ),
    ),
    knobs=_by_name(
        Field(
            "timeout",
            Either((_SECONDS, Nested(lambda: _HTTP_TIMEOUT))),
            "Seconds in all, or `connect`, `read`, `total`.",
        ),
        Field("follow_redirects", Flag(), "Whether redirects are followed; they are when left out."),
        Field("redirects_max", Number(integer=True), "The most redirects to follow."),
        Field("verify_tls", Flag(), "Whether the server's certificate is checked; it is when left out."),
        Field("ca_file", Text(), "A file with certificates to trust instead of the system's."),
        Field("response_bytes_max", Number(integer=True, minimum=1), "The largest answer to accept, in bytes."),
    ),
    blocks={"http": ("status", "headers", "request_id", "url")},
    blanks={"headers": {}},
)

_PYTHON = Kind(
    "python",
    "Python code of yours, run in a child process.",
    _by_name(
        Field("code", _CODE, "The code. Its `result`, or what `main(…)` returns, is the data."),
        Field("file", Text(), "A file with the code, beside the playbook."),
    ),
    knobs=_by_name(
        Field("python", Text(), "The interpreter or virtual environment to use."),
        _MEMORY,
        _OPEN_FILES,
    ),
    is_callee=True,
    one_of=(("code", "file"),),
    texts=("code",),
    blocks={"py": ("exception_type", "traceback")},
)

_SCRIPT = Kind(
    "script",
    "A shell script, or a script for any interpreter.",
    _by_name(
        Field("script", _CODE, "The script's text."),
        Field("file", Text(), "A file with the script, beside the playbook."),
        Field("interpreter", Text(), "What reads the script, with options; by its first line `#!`, else bash."),
        Field("argv", Listing(Value()), "Arguments of the script."),
        Field("parse", Choice(("json", "text")), "Whether standard output is read as JSON."),
        Field("stdin", Value(), "Standard input: text as it is, anything else as JSON."),
        Field("cwd", _TEXT, "The folder to run in; that of the worker when left out."),
    ),
    knobs=_by_name(
        _MEMORY,
        _OPEN_FILES,
        Field("stdout_bytes_max", Number(integer=True, minimum=1), "The most a script may print as data; 16 MiB."),
    ),
    is_callee=True,
    one_of=(("script", "file"),),
    texts=("script",),
    blocks={"process": ("exit_code", "stdout", "stderr")},
)

_POSTGRES = Kind(
    "postgres",
    "One statement, or a bulk copy, on PostgreSQL.",
    _by_name(
        Field("dsn", _TEXT, "Where the database is, when there is no `auth`."),
        Field("command", _TEXT, "The SQL statement. Values belong in `params`."),
        Field("query", _TEXT, "Another name of `command`."),
        Field("params", Value(), "Values for the statement's placeholders."),
        Field("copy", Value(), "A bulk load: the table, its columns and the rows."),
    ),
    one_of=(("command", "query", "copy"), ("auth", "dsn")),
    sql=("command", "query"),
    aliases={"query": "command"},
    blocks={"pg": ("code", "sqlstate", "row_count")},
)

_DUCKDB = Kind(
    "duckdb",
    "SQL over files and data in memory.",
    _by_name(
        Field("command", _TEXT, "The SQL statement. Values belong in `params`."),
        Field("query", _TEXT, "Another name of `command`."),
        Field("params", Value(), "Values for the statement's placeholders."),
        Field("database", _TEXT, "A database file; in memory when left out."),
        Field("tables", Values(), "Data that the statement sees as tables."),
    ),
    one_of=(("command", "query"),),
    sql=("command", "query"),
    aliases={"query": "command"},
    blocks={"duckdb": ()},
)

_PLAYBOOK = Kind(
    "playbook",
    "Another playbook, run as an execution of its own.",
    _by_name(
        Field("path", _TEXT, "The playbook's path.", required=True),
        Field("version", Text(lenient=True, is_template=True), "The version to run; the latest when left out."),
        Field("return_step", _TEXT, "The step of the child whose output is returned."),
    ),
    is_callee=True,
    blocks={"playbook": ("execution_id", "status")},
)

_WORKBOOK = Kind(
    "workbook",
    "A block of this playbook's `workbook`.",
    _by_name(Field("task", Text(), "The block's name.", required=True)),
    knobs=_by_name(_NO_TIMEOUT),
    is_callee=True,
)

_RESOLVE = Kind(
    "resolve",
    "The data behind a reference.",
    _by_name(
        Field("ref", Value(), "The reference.", required=True),
        Field("range", Value(), "What to fetch of it: `[start, stop]`, items of a list, bytes of text and of files."),
    ),
)

_SECRETS = Kind(
    "secrets",
    "A secret from a secret store.",
    _by_name(
        Field("provider", _TEXT, "The secret store."),
        Field("name", _TEXT, "The secret's name there, under `input`; the task's own name when left out."),
    ),
)

KINDS: tuple[Kind, ...] = (
    _NOOP,
    _HTTP,
    _PYTHON,
    _SCRIPT,
    _POSTGRES,
    _DUCKDB,
    _PLAYBOOK,
    _WORKBOOK,
    _RESOLVE,
    _SECRETS,
)


class KeychainKind(msgspec.Struct, frozen=True):
    """A way to get a credential; `fields` beyond `name` and `kind`."""

    name: str
    doc: str
    fields: Mapping[str, Field]


def _keychain_kind(name: str, doc: str, *fields: Field) -> KeychainKind:
    return KeychainKind(name, doc, _by_name(*fields))


_STORED = Field("credential", Text(), "The stored credential's name, when it is not the entry's own.")

KEYCHAIN_KINDS: tuple[KeychainKind, ...] = (
    _keychain_kind(
        "env", "An environment variable of the worker.", Field("var", Text(), "The variable.", required=True)
    ),
    _keychain_kind("file", "A file on the worker.", Field("path", _TEXT, "The file.", required=True)),
    _keychain_kind("postgres_credential", "A stored PostgreSQL credential.", _STORED),
    _keychain_kind(
        "secret_manager", "A secret manager's entry.", _STORED, Field("provider", Text(), "Which secret manager.")
    ),
    _keychain_kind("static", "A stored set of values.", _STORED),
    _keychain_kind("bearer", "A stored bearer token.", _STORED),
    _keychain_kind("basic", "A stored user name and password.", _STORED),
    _keychain_kind("api_key", "A stored API key.", _STORED),
    _keychain_kind(
        "oauth2",
        "A stored OAuth 2 client; its token is renewed before it expires.",
        _STORED,
        Field("token_url", _TEXT, "Where tokens are issued."),
        Field("scopes", Listing(Text()), "The scopes to ask for."),
    ),
)
