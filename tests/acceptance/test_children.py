"""Playbooks that call playbooks, and what people read when one far below fails."""

import re
import shlex
import signal
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.live import Live, until
from tests.acceptance.process import noetl

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{ name: {name}, path: shop/{name} }}\n"
LEAF = """workflow:
  - step: load
    tool:
      kind: python
      code: |
        raise ValueError("no luck")
"""
CALLS = "workflow:\n  - step: ask_{called}\n    tool: {{ kind: playbook, path: shop/{called} }}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "leaf.yaml").write_text(HEAD.format(name="leaf") + LEAF, "utf-8")
    for name, called in (("middle", "leaf"), ("top", "middle")):
        (tmp_path / f"{name}.yaml").write_text(HEAD.format(name=name) + CALLS.format(called=called), "utf-8")
    return tmp_path


def test_the_cause_three_levels_below_is_read_first_with_the_way_there(project: Path) -> None:
    ran = noetl("run", "top.yaml", "-q", folder=project)
    assert ran.returncode == 1
    lines = ran.stderr.splitlines()
    assert re.fullmatch(r"failed: .*leaf\.yaml:9: ValueError: no luck", lines[0])
    assert lines[1:4] == [
        "  in task `load_task` of step `load` of playbook shop/leaf",
        "  called by playbook shop/middle",
        "  called by step `ask_middle`, and no arc takes its failure",
    ]
    command = lines[4].removeprefix("  = look: ")
    looked = noetl(*shlex.split(command)[1:], folder=project)
    assert looked.returncode == 0
    assert "load" in looked.stdout
    assert len(lines) == 5


def test_the_lines_of_a_run_say_the_cause_once(project: Path) -> None:
    told = noetl("run", "top.yaml", folder=project).stderr
    (line,) = [line for line in told.splitlines() if "ask_middle failed: " in line]
    assert line.endswith(
        "ValueError: no luck (in playbook `shop/leaf`, step `load`, task `load_task`, called by `shop/middle`)"
    )


def test_programs_read_which_execution_is_to_blame(project: Path) -> None:
    record = msgspec.json.decode(noetl("run", "top.yaml", "-o", "json", folder=project).stdout)
    origin = record["error"]["details"]["origin"]
    assert (origin["playbook"], origin["step"], origin["called_by"]) == ("shop/leaf", "load", ["shop/middle"])
    assert origin["execution_id"].startswith(record["execution_id"])
    assert record["error"]["kind"] == "playbook_failed"


def test_a_rule_reads_the_cause_and_the_child(project: Path) -> None:
    body = """workflow:
  - step: ask
    tool:
      kind: playbook
      path: shop/leaf
      spec:
        policy:
          rules:
            - when: "{{ output.error.kind == 'playbook_failed' }}"
              then: { do: continue, set: { ctx.at: "{{ output.error.details.origin.step }}" } }
            - else: { then: { do: fail } }
    next: { arcs: [ { step: say } ] }
  - step: say
    tool: { kind: python, code: "result = at", input: { at: "{{ ctx.at }}" } }
"""
    (project / "rule.yaml").write_text(HEAD.format(name="rule") + body, "utf-8")
    ran = noetl("run", "rule.yaml", "-q", folder=project)
    assert (ran.returncode, ran.stdout) == (0, "load\n"), ran.stderr


def test_a_loop_over_a_child_that_fails_says_the_cause(project: Path) -> None:
    body = """workflow:
  - step: all
    loop: { in: "{{ [1, 2] }}", iterator: i }
    tool: { kind: playbook, path: shop/leaf }
"""
    (project / "loop.yaml").write_text(HEAD.format(name="loop") + body, "utf-8")
    told = noetl("run", "loop.yaml", "-q", folder=project).stderr.splitlines()
    assert told[0].endswith("ValueError: no luck")
    assert told[1] == "  in task `load_task` of step `load` of playbook shop/leaf"


def test_iterations_are_listed_and_printed_as_people_count_and_failed_ones_are_listed_first(project: Path) -> None:
    child = "workload: { n: 0 }\nworkflow:\n  - step: say\n    tool:\n      kind: python\n"
    child += '      input: { n: "{{ workload.n }}" }\n      code: "print(n); 1 / (n - 7)"\n'
    (project / "say.yaml").write_text(HEAD.format(name="say") + child, "utf-8")
    parent = """workflow:
  - step: each
    spec: { policy: { failure: { mode: best_effort } } }
    loop: { in: "{{ range(12) | list }}", iterator: i, spec: { mode: parallel } }
    tool: { kind: playbook, path: shop/say, input: { n: "{{ iter.i }}" } }
"""
    (project / "each.yaml").write_text(HEAD.format(name="each") + parent, "utf-8")
    ran = noetl("run", "each.yaml", folder=project)
    assert len([line for line in ran.stderr.splitlines() if "waits for playbook shop/say" in line]) == 10
    listed = noetl("executions", "--of", "@latest", folder=project).stdout
    assert re.findall(r"each#1\[([0-9]+)\]", listed) == [str(i) for i in (7, *range(7), *range(8, 12))]
    below = noetl("executions", "--children", folder=project).stdout
    assert re.findall(r"each#1\[([0-9]+)\]", below) == [str(i) for i in range(12)]
    printed = noetl("logs", "@latest", folder=project).stdout
    assert re.findall(r"\| ([0-9]+)$", printed, re.MULTILINE) == [str(i) for i in range(12)]


COUNT = 8
STANDS = """workflow:
  - step: stand
    tool:
      kind: script
      script: |
        touch "$(mktemp -p . began.XXXXXX)"
        exec sleep 600
"""
MANY = f"""workflow:
  - step: each
    loop: {{{{ in: {list(range(COUNT))}, iterator: i, spec: {{{{ mode: parallel }}}} }}}}
    tool: {{{{ kind: playbook, path: shop/middle }}}}
"""


def test_the_cancel_of_an_interrupted_run_has_reached_all_below_it_when_the_command_ends(project: Path) -> None:
    (project / "leaf.yaml").write_text(HEAD.format(name="leaf") + STANDS, "utf-8")
    (project / "many.yaml").write_text((HEAD + MANY).format(name="many"), "utf-8")
    with Live("run", "many.yaml", "-q", folder=project) as run:
        until(lambda: len(list(project.glob("began.*"))) == COUNT)
        run.signal(signal.SIGKILL)
        run.end()
    ran = noetl("cancel", "@latest", folder=project)
    assert (ran.returncode, len(ran.stderr.splitlines())) == (0, 1), ran.stderr
    listed = msgspec.json.decode(noetl("executions", "--children", "-o", "json", folder=project).stdout)
    assert [each["status"] for each in listed] == ["cancelled"] * (1 + 2 * COUNT)
