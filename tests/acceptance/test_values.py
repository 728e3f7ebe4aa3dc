"""All values are known before a run: what they cannot do is told before it starts, and a dry run tells the truth."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.process import noetl
from tests.acceptance.test_needs import HEAD, write

LOOP = """workload: { n: 2, region: eu }
workflow:
  - step: all
    loop: { in: "{{ range(workload.n) | list }}", iterator: i }
    tool: { kind: noop }
    next: { arcs: [ { step: last } ] }
  - step: last
    tool:
      kind: python
      input: { x: "{{ workload.reigon }}", y: "{{ workload.other ~ all.data }}" }
      code: result = 1
"""


def dry(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return noetl("run", "flow.yaml", "--dry-run", *words, folder=folder)


def test_a_key_that_nobody_gives_is_a_warning_at_its_place_with_all_keys_that_there_are(tmp_path: Path) -> None:
    write(tmp_path, "flow", LOOP)
    ran = dry(tmp_path)
    assert ran.returncode == 0
    assert ran.stdout.startswith("shop/flow is sound, with 2 warnings, see above; nothing was run\n")
    assert 'flow.yaml:13:32: warning: `workload` has no "reigon"; did you mean "region"? [NOE955]' in ran.stderr
    assert 'flow.yaml:13:60: warning: `workload` has no "other" [NOE955]' in ran.stderr
    assert "= it has: n, region\n        give it: --set reigon=VALUE, or declare it in `workload`" in ran.stderr
    given = dry(tmp_path, "--payload", '{"reigon": 1, "other": 2}')
    assert given.stdout.startswith("shop/flow is sound; nothing was run\n")
    assert given.stderr == ""


def test_what_many_templates_lack_is_told_once_where_it_is_gravest(tmp_path: Path) -> None:
    body = LOOP.replace("workload.other ~ all.data", "workload.reigon ~ all.data")
    write(tmp_path, "flow", body)
    ran = dry(tmp_path)
    assert ran.stderr.count("[NOE955]") == 1
    assert "1 other template has the same problem" in ran.stderr
    write(tmp_path, "flow", body.replace("range(workload.n)", "range(workload.reigon)"))
    ran = dry(tmp_path)
    assert 'flow.yaml:7:36: error: `workload` has no "reigon"' in ran.stderr
    assert "2 other templates have the same problem" in ran.stderr


def test_a_run_tells_of_values_that_only_later_steps_lack(tmp_path: Path) -> None:
    write(tmp_path, "flow", LOOP)
    ran = noetl("run", "flow.yaml", folder=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.index("[NOE955]") < ran.stderr.index("all started")
    assert "`workload` has no key reigon; did you mean `region`? There is: n, region" in ran.stderr


def test_a_value_that_the_first_step_cannot_take_is_an_error_of_a_dry_run_and_a_run_that_fails(tmp_path: Path) -> None:
    write(tmp_path, "flow", LOOP)
    ran = dry(tmp_path, "--set", "n=abc")
    assert ran.returncode == 3
    assert ran.stdout.startswith("shop/flow would fail: 1 error, see above")
    assert "flow.yaml:7:21: error: expected a whole number, found text, in `range(workload.n)` [NOE956]" in ran.stderr
    assert '= workload.n is "abc"' in ran.stderr
    failed = noetl("run", "flow.yaml", "--set", "n=abc", folder=tmp_path)
    assert failed.returncode == 1
    assert "NOE956" not in failed.stderr


def test_a_loop_over_something_else_than_a_list_is_told(tmp_path: Path) -> None:
    write(tmp_path, "flow", LOOP.replace("range(workload.n) | list", "workload.region"))
    ran = dry(tmp_path)
    assert ran.returncode == 3
    assert "flow.yaml:7:17: error: `loop.in` must give a list, and gives text [NOE956]" in ran.stderr


def test_the_first_task_begins_a_run_unless_a_rule_may_keep_it_from_that(tmp_path: Path) -> None:
    task = '{ name: t, kind: python, code: "result = 1", input: { x: "{{ workload.x }}" }'
    write(tmp_path, "flow", f"workflow:\n  - step: a\n    tool: [ {task} }} ]\n")
    assert ":6:83: error: `workload` has no" in dry(tmp_path).stderr
    before, rules = '{ when: "{{ true }}", then: { do: skip } }', "{ else: { then: { do: continue } } }"
    rules = f", spec: {{ policy: {{ before: [ {before} ], rules: [ {rules} ] }} }}"
    write(tmp_path, "flow", f"workflow:\n  - step: a\n    tool: [ {task}{rules} }} ]\n")
    assert "warning: `workload` has no" in dry(tmp_path).stderr
    write(
        tmp_path,
        "flow",
        """workflow:
  - step: a
    spec: { policy: { admit: { rules: [ { when: "{{ workload.go }}", then: { allow: true } } ] } } }
    loop: { in: "{{ workload.x }}", iterator: i }
    tool: { kind: noop }
""",
    )
    told = dry(tmp_path).stderr
    assert "warning: `workload` has no" in told
    assert '"go"' not in told


LOOPED = """workload: { n: 2, k: 2 }
workflow:
  - step: all
    loop:
      in: "{{ range(workload.n) | list }}"
      iterator: i
      spec: { mode: parallel, max_in_flight: "{{ workload.k }}" }
    tool: [ { name: t, kind: python, code: "result = 1", input: { x: "{{ workload.missing ~ iter.i }}" } } ]
"""


def test_what_the_tasks_of_a_looped_first_step_lack_is_an_error_unless_nothing_is_looped_over(tmp_path: Path) -> None:
    write(tmp_path, "flow", LOOPED)
    ran = dry(tmp_path)
    assert ran.returncode == 3
    assert 'flow.yaml:11:83: error: `workload` has no "missing" [NOE955]' in ran.stderr
    assert ran.stdout.startswith("shop/flow would fail: 1 error, see above")
    assert noetl("run", "flow.yaml", folder=tmp_path).returncode == 1
    empty = dry(tmp_path, "--set", "n=0")
    assert empty.returncode == 0
    assert "flow.yaml:11:83: warning" in empty.stderr
    assert noetl("run", "flow.yaml", "--set", "n=0", folder=tmp_path).returncode == 0


def test_a_template_that_the_first_item_does_not_fit_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "flow", LOOPED.replace("workload.missing ~ iter.i", "iter.i + workload.s"))
    ran = dry(tmp_path, "--set", "s=x")
    assert ran.returncode == 3
    assert "flow.yaml:11:74: error: cannot add a number and text" in ran.stderr


def test_how_many_may_run_at_once_is_shown_with_its_value_and_only_of_a_parallel_loop(tmp_path: Path) -> None:
    body = LOOPED.replace("workload.missing", "1")
    write(tmp_path, "flow", body)
    assert "  all  python; loop parallel, at most 3 at once\n" in dry(tmp_path, "--set", "k=3").stdout
    inner = body.replace("iter.i", "iter.j").replace(
        "iterator: i\n", "iterator: i\n      loop: { in: [ 1 ], iterator: j }\n"
    )
    write(tmp_path, "flow", inner.replace("mode: parallel", "mode: sequential"))
    ran = dry(tmp_path, "--set", "k=0")
    assert "  all  python; loop sequential; in it a loop sequential\n" in ran.stdout
    assert ran.stderr == ""


@pytest.mark.parametrize(("given", "told"), [("0", "0"), ("-2", "-2"), ("x", "'x'"), ("2.5", "2.5"), ("true", "True")])
def test_a_max_in_flight_that_is_no_whole_number_from_1_is_told_before_the_run(
    tmp_path: Path, given: str, told: str
) -> None:
    write(tmp_path, "flow", LOOPED.replace("workload.missing", "1"))
    ran = dry(tmp_path, "--set", f"k={given}")
    assert ran.returncode == 3
    expected = f"error: `max_in_flight` must be a whole number of at least 1, not {told} [NOE956]"
    assert f"flow.yaml:10:46: {expected}" in ran.stderr


def test_a_run_tells_of_a_max_in_flight_that_a_later_step_cannot_take(tmp_path: Path) -> None:
    first = "workflow:\n  - step: first\n    tool: { kind: noop }\n    next: { arcs: [ { step: all } ] }\n"
    write(tmp_path, "flow", LOOPED.replace("workload.missing", "1").replace("workflow:\n", first))
    ran = noetl("run", "flow.yaml", "--set", "k=0", folder=tmp_path)
    assert "flow.yaml:13:46: warning: `max_in_flight` must be a whole number of at least 1, not 0" in ran.stderr
    assert ran.stderr.index("[NOE956]") < ran.stderr.index("first started")


def test_what_the_first_step_asks_before_it_starts_is_told_by_a_dry_run(tmp_path: Path) -> None:
    rule = '{ when: "{{ workload.n + workload.s > 1 }}", then: { allow: true } }'
    admit = f"    spec: {{ policy: {{ admit: {{ rules: [ {rule} ] }} }} }}\n"
    write(tmp_path, "flow", LOOPED.replace("  - step: all\n", f"  - step: all\n{admit}"))
    ran = dry(tmp_path, "--set", "s=x")
    assert ran.returncode == 3
    assert "flow.yaml:7:49: error: cannot add a number and text" in ran.stderr
    denied = dry(tmp_path, "--set", "s=-5")
    assert denied.returncode == 0
    assert '`workload` has no "missing"' in denied.stderr


def test_a_template_that_does_without_a_key_is_no_matter(tmp_path: Path) -> None:
    body = """workload: { a: {} }
workflow:
  - step: a
    input: { x: "{{ workload.x | default(1) }}", y: "{{ workload.a.b if workload.a else 2 }}" }
    tool: { kind: noop }
"""
    write(tmp_path, "flow", body)
    assert dry(tmp_path).stderr == ""
    write(tmp_path, "flow", body.replace("| default(1)", "").replace("workload.x", "workload.a.c"))
    assert 'error: `workload.a` has no "c" [NOE955]' in dry(tmp_path).stderr
    assert "= it is empty\n        give it: --set a.c=VALUE" in dry(tmp_path).stderr


def test_a_value_for_a_key_that_is_not_there_is_told_and_taken(tmp_path: Path) -> None:
    write(tmp_path, "flow", LOOP.replace("workload.reigon", "workload.region").replace("workload.other", "workload.n"))
    ran = noetl("run", "flow.yaml", "--set", "regoin=us", "--set", "n=1", folder=tmp_path)
    assert ran.returncode == 0
    assert 'warning: the workload of shop/flow has no "regoin"; did you mean "region"?\n' in ran.stderr
    assert "= it declares or reads: n, region" in ran.stderr
    assert noetl("run", "flow.yaml", "--set", "regoin=us", "-q", folder=tmp_path).stderr == ""
    assert dry(tmp_path, "--set", "zz=1").stdout.startswith("shop/flow is sound, with 1 warning, see above")


def test_a_dry_run_for_programs_lists_the_problems(tmp_path: Path) -> None:
    write(tmp_path, "flow", LOOP.replace("workload.other ~ all.data", "1"))
    record = msgspec.json.decode(dry(tmp_path, "-o", "json", "--set", "n=x", "--set", "m=1").stdout)
    problems = [(each["severity"], each.get("code"), each.get("line")) for each in record["problems"]]
    assert problems == [("error", "NOE956", 7), ("warning", "NOE955", 13), ("warning", None, None)]
    assert record["problems"][0]["file"] == "flow.yaml"


def test_a_playbook_that_reads_no_values_says_so(tmp_path: Path) -> None:
    write(tmp_path, "flow", "workflow: [ { step: a, tool: { kind: noop } } ]\n")
    assert 'has no "n"\n  = it reads no values\n' in dry(tmp_path, "--set", "n=1").stderr


CODE = """workflow:
  - step: a
    tool:
      kind: python
      code: |
        x = 1
        result = = x
"""


TAKEN = """    next: { arcs: [ { step: z, when: "{{ event.name == 'step.failed' }}" } ] }
  - step: z
    tool: { kind: noop }
"""


def test_code_that_cannot_be_read_is_a_warning_at_its_line_and_an_error_where_a_run_begins_with_it(
    tmp_path: Path,
) -> None:
    write(tmp_path, "flow", CODE)
    ran = dry(tmp_path)
    assert ran.returncode == 3
    assert ran.stdout.startswith("shop/flow would fail: 1 error, see above")
    checked = noetl("validate", "flow.yaml", folder=tmp_path).stdout
    write(tmp_path, "flow", CODE + TAKEN)
    taken = dry(tmp_path)
    assert taken.returncode == 0
    for told, severity in ((ran.stderr, "error"), (checked, "warning"), (taken.stderr, "warning")):
        assert f"flow.yaml:10:18: {severity}: Python 3." in told
        assert "cannot read this code: invalid syntax [NOE957]" in told


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("      kind: python\n", "      kind: python\n      spec: { python: venv }\n"),
        ("    tool:\n", "    spec: { python: { python: venv } }\n    tool:\n"),
    ],
)
def test_code_for_another_interpreter_is_not_looked_at(tmp_path: Path, written: str, named: str) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "venv" / "bin" / "python").chmod(0o700)
    write(tmp_path, "flow", CODE.replace(written, named))
    ran = dry(tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_code_may_hold_what_no_compiler_takes(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(
        HEAD.format(name="flow") + "workflow:\n  - step: a\n    tool: { kind: python, code: \"x = '\\0'\" }\n" + TAKEN,
        "utf-8",
    )
    assert dry(tmp_path).returncode == 0


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_value_that_would_make_a_mapping_of_a_list_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    write(tmp_path, "flow", "workload: { rows: [1, 2] }\nworkflow:\n  - step: a\n    tool: { kind: noop }\n")
    ran = noetl("run", "flow.yaml", "--set", "rows.0=9", *words, folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "noetl run: `rows` is a list, and --set reaches into mappings alone" in ran.stderr
    assert "= give it whole: --set 'rows=[1,2]'" in ran.stderr


def test_a_rerun_makes_no_mapping_of_a_list_either(tmp_path: Path) -> None:
    write(tmp_path, "flow", "workload: { rows: [1, 2] }\nworkflow:\n  - step: a\n    tool: { kind: noop }\n")
    noetl("run", "flow.yaml", "-q", folder=tmp_path)
    ran = noetl("rerun", "@latest", "--from", "a", "--set", "rows.0=9", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "noetl rerun: `rows` is a list, and --set reaches into mappings alone" in ran.stderr


def test_a_hint_shows_only_values_that_are_there(tmp_path: Path) -> None:
    task = '{ kind: python, input: { y: "{{ workload.deep.x.y }}" }, code: "result = y" }'
    write(tmp_path, "flow", f"workload: {{ deep: {{ x: {{ y: 1 }} }} }}\nworkflow:\n  - step: a\n    tool: {task}\n")
    told = dry(tmp_path, "--set", "deep=5").stderr
    assert "error: `workload.deep` is a number and has no x [NOE956]" in told
    assert "      = workload.deep is 5\n" in told


CHILD = "keychain: [ { name: t, kind: env, var: %s } ]\nworkload: { v: NO_SUCH_SECRET }\n"
CALL = "workflow:\n  - step: a\n    tool: { kind: playbook, path: shop/child }\n"


def test_a_secret_that_the_first_call_lacks_is_an_error_of_a_dry_run(tmp_path: Path) -> None:
    noop = "workflow:\n  - step: a\n    tool: { kind: noop }\n"
    write(tmp_path, "child", CHILD % "NO_SUCH_SECRET" + noop)
    write(tmp_path, "flow", CALL)
    ran = dry(tmp_path)
    assert ran.stdout.startswith("shop/flow would fail: 1 error, see above")
    assert "error: keychain entry 't' needs the environment variable NO_SUCH_SECRET, which is not set" in ran.stderr
    assert noetl("run", "flow.yaml", folder=tmp_path).returncode == 1
    write(tmp_path, "flow", CALL + TAKEN)
    assert dry(tmp_path).stdout.startswith("shop/flow is sound, with 1 warning")
    write(tmp_path, "flow", CALL)
    write(tmp_path, "child", CHILD % "'{{ workload.v }}'" + noop)
    assert dry(tmp_path).stdout.startswith("shop/flow is sound, with 1 warning")


def test_all_that_is_missing_is_counted(tmp_path: Path) -> None:
    write(tmp_path, "flow", CHILD % "NO_SUCH_SECRET" + CALL)
    ran = dry(tmp_path)
    assert ran.returncode == 3
    assert ran.stderr.count("error: ") == 2
    assert ran.stderr.endswith("noetl run: 2 things are missing, see above; nothing was run\n")
