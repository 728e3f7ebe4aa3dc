"""What each tool kind takes: values for the fields of a task, and the knobs of a `spec`."""

from collections.abc import Callable

from noetl.expressions.sites import Site
from tests.generators.choices import Choices, happens, pick, several, some_of
from tests.generators.settings import Setting
from tests.generators.values import SECONDS, WORDS, bindings, template, templated

Fields = dict[str, object]

STORED = "stored_login"
"""The name of a credential that no keychain declares."""

_STATEMENTS = ("select 1", "insert into t (a)\nvalues (%(a)s)\n", "-- note\nselect 'it''s' as \"x\"")


def fields(kind: str, choices: Choices, setting: Setting) -> Fields:
    return _FIELDS[kind](_Author(choices, setting))


class _Author:
    """Writes the values of one task."""

    def __init__(self, choices: Choices, setting: Setting) -> None:
        self.choices = choices
        self.scene = setting.scene
        self.blocks = setting.blocks

    def one(self, *options: object) -> object:
        return pick(self.choices, options)

    def text(self) -> object:
        return template(self.choices, Site.TASK_INPUT, self.scene) if happens(self.choices) else self.one(*WORDS)

    def value(self) -> object:
        return templated(self.choices, Site.TASK_INPUT, self.scene)

    def values(self) -> object:
        return bindings(self.choices, Site.TASK_INPUT, self.scene)

    def some(self, **makers: Callable[[], object]) -> Fields:
        return some_of(self.choices, makers)


def _noop(_: _Author) -> Fields:
    return {}


def _http(author: _Author) -> Fields:
    url = author.one(
        "http://api.test/rows", "http://api.test/{{ workload.message }}?page={{ input.page | default(1) }}"
    )
    body = author.one("", "json", "data", "body", "form", "files")
    return (
        {"url": url}
        | author.some(
            method=lambda: author.one("GET", "POST", "{{ 'PUT' }}"),
            params=author.values,
            headers=author.values,
            response=lambda: author.one("auto", "json", "text", "bytes"),
        )
        | ({str(body): author.values()} if body else {})
    )


def _python(author: _Author) -> Fields:
    if happens(author.choices, 4):
        return {"file": "jobs/load.py"}
    return {"code": author.one("result = 1", "def main(page=1):\n    return {'page': page}\n", "# note\nresult = {}")}


def _script(author: _Author) -> Fields:
    body = (
        {"file": "jobs/load.sh"}
        if happens(author.choices, 4)
        else {"script": author.one("echo hi", "set -e\necho $PAGE\n")}
    )
    return body | author.some(
        interpreter=lambda: author.one("bash", "sh"),
        argv=lambda: several(author.choices, author.text, 0, 2),
        parse=lambda: author.one("json", "text"),
        cwd=author.text,
    )


def _postgres(author: _Author) -> Fields:
    where = author.some(dsn=lambda: "postgresql://db.test/x")
    if happens(author.choices, 4):
        return where | {"copy": {"table": "t", "rows": author.value()}}
    return where | {"command": author.one(*_STATEMENTS)} | author.some(params=author.value)


def _duckdb(author: _Author) -> Fields:
    optional = author.some(params=author.value, database=lambda: "rows.duckdb", tables=author.values)
    return {"command": author.one(*_STATEMENTS)} | optional


def _playbook(author: _Author) -> Fields:
    return {"path": author.text()} | author.some(version=lambda: "v1.10", return_step=lambda: "last")


def _workbook(author: _Author) -> Fields:
    return {"task": author.one(*author.blocks)}


def _resolve(author: _Author) -> Fields:
    return {"ref": "{{ ctx.saved_ref }}"} | author.some(range=lambda: [0, author.one(1, 9)])


def _secrets(author: _Author) -> Fields:
    return author.some(provider=author.text, name=author.text)


_FIELDS: dict[str, Callable[[_Author], Fields]] = {
    "noop": _noop,
    "http": _http,
    "python": _python,
    "script": _script,
    "postgres": _postgres,
    "duckdb": _duckdb,
    "playbook": _playbook,
    "workbook": _workbook,
    "resolve": _resolve,
    "secrets": _secrets,
}


def knobs(choices: Choices, setting: Setting | None = None) -> Fields:
    """The layered part of a `spec`; with a setting, of a task, which may lift values out of its result."""
    if not happens(choices, 3):
        return {}
    return some_of(
        choices,
        {
            "timeout": lambda: _timeout(choices),
            "result": lambda: _result(choices, setting),
            "limits": lambda: {"task_runs_max": choices.number(1, 500)},
            "pool": lambda: pick(choices, WORDS),
        },
    )


def _timeout(choices: Choices) -> object:
    if happens(choices, 3):
        return {word: pick(choices, SECONDS) for word in ("connect", "read", "total") if happens(choices)}
    return pick(choices, SECONDS)


def _result(choices: Choices, setting: Setting | None) -> Fields:
    makers: dict[str, Callable[[], object]] = {
        "inline_max_bytes": lambda: choices.number(1, 10**6),
        "ttl": lambda: "24h",
        "compression": lambda: "gzip",
        "store": lambda: {"type": pick(choices, WORDS)},
    }
    if setting is not None:
        makers["select"] = lambda: bindings(choices, Site.SELECT, setting.scene)
    return some_of(choices, makers)
