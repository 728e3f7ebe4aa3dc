"""The live picture, as a person sees it on a terminal."""

import re
import time
from pathlib import Path

import msgspec
import pytest

from noetl.cli.running.following import FRAME_S
from tests.acceptance.process import noetl
from tests.acceptance.terminal import CTRL_C, Terminal

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: sample, path: sample }\n"
LOOP = f"""{HEAD}
workflow:
  - step: begin
    tool: {{ kind: noop }}
    next: {{ arcs: [ {{ step: each }} ] }}
  - step: each
    loop: {{ in: "{{{{ range(200) | list }}}}", iterator: i, spec: {{ mode: parallel, max_in_flight: 8 }} }}
    tool: {{ name: work, kind: python, code: result = i, input: {{ i: "{{{{ iter.i }}}}" }} }}
"""
GATE = """\
        kind: script
        script: |
          while [ ! -e go ]; do sleep 0.02; done
          echo through"""
WAITS = f"""{HEAD}
workflow:
  - step: before
    tool: {{ kind: noop }}
    next: {{ arcs: [ {{ step: gate }} ] }}
  - step: gate
    tool:
      - name: look
{GATE}
    next: {{ arcs: [ {{ step: after }} ] }}
  - step: after
    tool: {{ kind: noop }}
"""
FAILS = f"""{HEAD}
workflow:
  - step: good
    tool: {{ kind: noop }}
    next: {{ arcs: [ {{ step: bad }} ] }}
  - step: bad
    tool: {{ kind: python, code: "raise ValueError('no luck: 東京 ' + 'long ' * 100)" }}
    next: {{ arcs: [ {{ step: never }} ] }}
  - step: never
    tool: {{ kind: noop }}
"""
WIDE = f"""{HEAD.replace("name: sample", "name: 東京のデータを集めて並べて数えて比べて送る長い名前の仕事")}
workflow:
  - step: a_name_that_is_much_longer_than_a_terminal_of_forty_columns_is_wide
    loop:
      iterator: i
      spec: {{ mode: parallel, max_in_flight: 3 }}
      in: [ 東京東京東京東京東京東京東京東京東京, "two\\nlines\\ttab", {{ name: Москва }} ]
    tool:
      - name: look
{GATE}
"""


def many(count: int) -> str:
    steps = "".join(
        f"  - step: s{number}\n    tool: {{ kind: noop }}\n    next: {{ arcs: [ {{ step: s{number + 1} }} ] }}\n"
        for number in range(count)
    )
    return f"{HEAD}\nworkflow:\n{steps}  - step: s{count}\n    tool:\n      - name: look\n{GATE}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    texts = {"loop": LOOP, "waits": WAITS, "fails": FAILS, "wide": WIDE, "many": many(40)}
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text, "utf-8")
    (tmp_path / ".noetl").mkdir()  # so that no run says that it made it
    return tmp_path


def plain(line: str) -> str:
    """Without its time."""
    return re.sub(r" +[0-9.]+ m?s$", "", line)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 10), (200, 60)])
def test_at_the_end_the_tree_stands_there_once_and_the_result_is_intact(
    project: Path, columns: int, lines: int
) -> None:
    with Terminal("run", "loop.yaml", folder=project, columns=columns, lines=lines) as terminal:
        code, data = terminal.end()
    assert (code, msgspec.json.decode(data)) == (0, list(range(200)))
    assert [line.split()[:2] for line in terminal.all_lines] == [["▶", "sample"], ["✓", "begin"], ["✓", "each"]]
    assert "loop 200/200" in terminal.all_lines[2]
    assert all(re.search(r" [0-9.]+ m?s$", line) for line in terminal.all_lines[1:])


def test_the_result_follows_the_tree_where_both_go_to_the_terminal(project: Path) -> None:
    (project / "go").touch()
    with Terminal("run", "waits.yaml", "-o", "json", folder=project, shows_data=True) as terminal:
        code, _ = terminal.end()
    assert code == 0
    assert [plain(line) for line in terminal.all_lines[1:5]] == ["  ✓ before", "  ✓ gate", "  ✓ after", "{"]
    assert terminal.all_lines[-1] == "}"


def test_pictures_come_at_a_bounded_rate(project: Path) -> None:
    began_at = time.monotonic()
    with Terminal("run", "loop.yaml", folder=project) as terminal:
        terminal.end()
    first_and_last = 2
    assert 0 < len(terminal.frames) <= (time.monotonic() - began_at) / FRAME_S + first_and_last


def test_while_it_runs_the_tree_tells_what_happens_and_what_is_to_come(project: Path) -> None:
    with Terminal("run", "waits.yaml", folder=project) as terminal:
        terminal.until(lambda: "look" in terminal.text)
        title, before, gate, after = terminal.shown
        assert title.startswith("▶ sample  ")
        assert plain(before) == "  ✓ before"
        assert re.fullmatch(r"  [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] gate +[0-9.]+ m?s   look", gate)
        assert after == "  · after"
        (project / "go").touch()
        assert terminal.end()[0] == 0


def test_of_more_steps_than_rows_those_around_what_happens_are_shown(project: Path) -> None:
    with Terminal("run", "many.yaml", folder=project, columns=40, lines=10) as terminal:
        terminal.until(lambda: "look" in terminal.text)
        assert len(terminal.shown) < 10
        assert terminal.shown[1].strip().endswith("more above")
        assert "s40 " in terminal.shown[-1]
        (project / "go").touch()
        assert terminal.end()[0] == 0
    assert all(frame.count("\n") < 10 for frame in terminal.frames[:-1])
    assert [line.split()[1] for line in terminal.all_lines[1:]] == [f"s{number}" for number in range(41)]


@pytest.mark.parametrize("size", [(40, 10), (120, 40), (60, 5), (20, 24)])
def test_a_terminal_may_change_its_size_meanwhile(project: Path, size: tuple[int, int]) -> None:
    with Terminal("run", "waits.yaml", folder=project) as terminal:
        terminal.until(lambda: "look" in terminal.text)
        drawn = len(terminal.frames)
        terminal.resize(*size)
        terminal.until(lambda: len(terminal.frames) > drawn + 2)
        (project / "go").touch()
        assert terminal.end()[0] == 0
    assert [plain(line) for line in terminal.shown[-3:]] == ["  ✓ before", "  ✓ gate", "  ✓ after"]
    assert sum("▶" in line for line in terminal.shown) == 1


def test_letters_that_are_wide_and_names_that_are_long_stay_on_their_lines(project: Path) -> None:
    with Terminal("run", "wide.yaml", folder=project, columns=40, lines=10) as terminal:
        terminal.until(lambda: terminal.text.count("look") == 3)
        assert "…" in terminal.shown[1]
        assert [line.split()[1:3] for line in terminal.shown[3:]] == [["[1]", "two"], ["[2]", "Москва"]]
        (project / "go").touch()
        assert terminal.end()[0] == 0
    assert len(terminal.all_lines) == 2
    assert all(len(line) <= 40 for line in terminal.all_lines)
    assert "[1] two lines tab   look" in "".join(terminal.frames)


def test_a_step_that_fails_says_why_in_the_tree_and_the_rest_below_it(project: Path) -> None:
    with Terminal("run", "fails.yaml", folder=project) as terminal:
        code, data = terminal.end()
    assert (code, data) == (1, "")
    tree = terminal.all_lines
    assert [line.split()[:2] for line in tree[1:3]] == [["✓", "good"], ["✗", "bad"]]
    assert "no luck: 東京" in tree[3].replace("東 京", "東京")
    assert tree[3].endswith("…")
    assert tree[4] == "  · never"
    assert tree[5].startswith("failed: ")
    assert sum("✗" in line for line in tree) == 1


def test_without_colour_the_picture_has_none(project: Path) -> None:
    with Terminal("run", "loop.yaml", folder=project, NO_COLOR="1") as terminal:
        assert terminal.end()[0] == 0
    assert terminal.frames
    assert b"\x1b[1m" not in terminal.raw
    assert not re.search(rb"\x1b\[[0-9;]*m", terminal.raw)


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(project: Path) -> None:
    with Terminal("run", "loop.yaml", folder=project, TERM="dumb") as terminal:
        assert terminal.end()[0] == 0
    assert b"\x1b" not in terminal.raw
    assert any("each loops over 200" in line for line in terminal.all_lines)


def test_a_pipe_gets_plain_lines(project: Path) -> None:
    ran = noetl("run", "loop.yaml", folder=project)
    assert "\x1b" not in ran.stderr
    told = [" ".join(line.split()[1:3]) for line in ran.stderr.splitlines()[1:]]
    assert told == ["begin started", "begin done", "each started", "each loops", "each done"]


def test_ctrl_c_once_cancels_the_run(project: Path) -> None:
    with Terminal("run", "waits.yaml", folder=project) as terminal:
        terminal.until(lambda: "look" in terminal.text)
        terminal.type(CTRL_C)
        code, data = terminal.end()
    assert (code, data) == (4, "")
    shown = [line.removeprefix("^C") for line in terminal.all_lines]
    assert shown[0] == "cancelling; Ctrl-C again stops at once, and the run can be resumed"
    assert [line.split()[:2] for line in shown[1:5]] == [
        ["▶", "sample"],
        ["✓", "before"],
        ["⊘", "gate"],
        ["·", "after"],
    ]
    assert shown[5] == "cancelled: by Ctrl-C"
    rest = re.fullmatch(r"  = run what is left: noetl (rerun [0-9a-f-]+ --playbook waits.yaml)", shown[6])
    assert rest is not None
    assert noetl("status", "@latest", folder=project).stdout.splitlines()[-2].strip() == "cancelled"
    (project / "go").touch()
    assert noetl(*rest[1].split(), folder=project).returncode == 0


def test_ctrl_c_twice_stops_at_once_and_the_run_can_be_resumed(project: Path) -> None:
    with Terminal("run", "waits.yaml", folder=project) as terminal:
        terminal.until(lambda: "look" in terminal.text)
        terminal.type(CTRL_C)
        terminal.until(lambda: "cancelling" in terminal.text)
        terminal.type(CTRL_C)
        code, data = terminal.end()
    assert (code, data) == (130, "")
    said = terminal.text.replace("\n", "")
    resume = re.search(r"stopped; go on with: noetl run --resume ([0-9a-f-]{36})", said)
    assert resume is not None, terminal.text
    (project / "go").touch()
    ran = noetl("run", "--resume", resume[1], folder=project)
    assert ran.returncode == 0, ran.stderr
    assert noetl("status", resume[1], folder=project).stdout.count("✓") == 3
