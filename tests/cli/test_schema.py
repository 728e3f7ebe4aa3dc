import json
from pathlib import Path

from noetl.playbook.schema import json_schema
from tests.cli.invoke import noetl


def test_the_schema_is_printed_as_json() -> None:
    ran = noetl("schema")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == json.loads(json.dumps(json_schema()))


def test_the_schema_may_go_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "noetl.schema.json"
    ran = noetl("schema", "-O", str(target))
    assert (ran.code, ran.out) == (0, "")
    assert target.read_text("utf-8") == noetl("schema", "-o", "json").out
