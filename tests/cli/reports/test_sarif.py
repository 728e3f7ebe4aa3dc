import json
from pathlib import Path
from typing import Any

from noetl import __version__
from tests.cli.invoke import BROKEN, SOUND, noetl

# What SARIF 2.1.0 requires of the parts that we write, from the text of the standard (sections 3.13 to 3.57).
LEVELS = {"none", "note", "warning", "error"}


def run_of(*words: str, stdin: str = BROKEN) -> dict[str, Any]:
    log = json.loads(noetl("validate", "-o", "sarif", *words, stdin=stdin.encode()).out)
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


TWO_MISTAKES = BROKEN.replace("kind: noop }", "kind: noop, urll: x }")


def test_the_driver_lists_the_rules_that_were_met_with_their_help() -> None:
    run = run_of("-", stdin=TWO_MISTAKES)
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("noetl", __version__)
    assert [rule["id"] for rule in driver["rules"]] == [result["ruleId"] for result in run["results"]]
    assert [result["ruleIndex"] for result in run["results"]] == [0, 1]
    assert all(rule["shortDescription"]["text"] and rule["help"]["markdown"] for rule in driver["rules"])
    assert {rule["defaultConfiguration"]["level"] for rule in driver["rules"]} <= LEVELS
    assert not any("helpUri" in rule for rule in driver["rules"])


def test_a_result_points_to_its_rule_and_its_place() -> None:
    run = run_of("-")
    (result,) = run["results"]
    assert result["level"] == "error"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "NOE203"
    assert result["message"]["text"].startswith('step "start" has an arc to "colect"')
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "%3Cstdin%3E"}
    assert location["physicalLocation"]["region"] == {"startLine": 8, "startColumn": 17, "endLine": 8, "endColumn": 23}
    assert run["columnKind"] == "unicodeCodePoints"


def test_a_fix_is_a_replacement_of_a_region() -> None:
    (result,) = run_of("-")["results"]
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"] == result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 8, "startColumn": 17, "endLine": 8, "endColumn": 23},
            "insertedContent": {"text": "collect"},
        }
    ]


def test_paths_become_uris(tmp_path: Path) -> None:
    path = tmp_path / "with space.yaml"
    path.write_text(BROKEN, "utf-8")
    (result,) = run_of(str(path))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == f"file://{tmp_path}/with%20space.yaml"


def test_a_sound_file_gives_an_empty_list_of_results() -> None:
    assert run_of("-", stdin=BROKEN.replace("colect", "collect"))["results"] == []


def test_notes_are_results_only_when_asked_for() -> None:
    noted = SOUND.replace("kind: noop }", "kind: noop, spec: { tracing: { sample: 1 } } }")
    assert run_of("-", stdin=noted)["results"] == []
    (result,) = run_of("-", "--info", stdin=noted)["results"]
    assert result["level"] == "note"
