import json
from pathlib import Path

from noetl.playbook.compile import compile_playbook
from tests.cli.invoke import BROKEN, SOUND, noetl

NOTED = SOUND.replace("kind: noop }", "kind: noop, spec: { tracing: { sample: 1 } } }")


def test_the_report_has_exactly_the_promised_form(tmp_path: Path) -> None:
    broken, sound = tmp_path / "a.yaml", tmp_path / "b.yaml"
    broken.write_text(BROKEN, "utf-8")
    sound.write_text(SOUND, "utf-8")
    ran = noetl("validate", "-o", "json", str(tmp_path))
    assert (ran.code, ran.err) == (3, "")
    assert json.loads(ran.out) == {
        "files": [
            {
                "path": str(broken),
                "diagnostics": [
                    {
                        "code": "NOE203",
                        "severity": "error",
                        "message": 'step "start" has an arc to "colect", which is not a step; did you mean "collect"?',
                        "line": 8,
                        "column": 17,
                        "end_line": 8,
                        "end_column": 23,
                        "hint": None,
                        "fixable": True,
                    }
                ],
            },
            {"path": str(sound), "diagnostics": []},
        ],
        "errors": 1,
        "warnings": 0,
    }


def test_notes_are_always_in_the_report() -> None:
    found = compile_playbook(NOTED, "x").diagnostics
    report = json.loads(noetl("validate", "-o", "json", "-", stdin=NOTED.encode()).out)
    assert [entry["severity"] for entry in report["files"][0]["diagnostics"]] == ["info"]
    assert len(found) == 1


def test_what_could_not_be_read_is_told_beside_a_whole_report() -> None:
    ran = noetl("validate", "-o", "json", "no.yaml", "-", stdin=SOUND.encode())
    assert ran.code == 2
    assert ran.err == "noetl: cannot read no.yaml: no such file or directory\n"
    assert [entry["path"] for entry in json.loads(ran.out)["files"]] == ["<stdin>"]
