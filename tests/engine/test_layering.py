"""Spec layering: kind defaults, executor, step, loop, task."""

from textwrap import dedent

import pytest

from noetl.engine.layering import Spec, effective_spec, knob, limit, merge, timeout_of
from noetl.engine.program import Program
from noetl.playbook.compile import compile_playbook
from noetl.playbook.kinds import KINDS as BUILT_IN
from noetl.playbook.kinds import Kind
from noetl.playbook.shape import Field, Text
from noetl.playbook.vocabulary import Vocabulary
from tests.engine.texts import pipeline

KINDS = frozenset({"http", "python"})


def test_maps_merge_deeply_and_everything_else_replaces() -> None:
    outer = {"a": {"x": 1, "y": [1, 2]}, "b": 1, "c": {"d": 1}}
    assert merge(outer, {"a": {"y": [3]}, "b": {"z": 1}, "c": 2}) == {"a": {"x": 1, "y": [3]}, "b": {"z": 1}, "c": 2}


def test_a_block_named_after_a_kind_applies_to_that_kind_only_within_its_layer() -> None:
    http = {"timeout": 2, "verify_tls": False}
    layers: list[Spec] = [{"timeout": 1, "http": http}, {"timeout": 3}, {"python": {"timeout": 4}}]
    assert effective_spec("http", KINDS, *layers) == {"timeout": 3, "verify_tls": False}
    assert effective_spec("python", KINDS, *layers) == {"timeout": 4}
    assert effective_spec("noop", KINDS, *layers) == {"timeout": 3}


def test_a_knob_may_be_named_like_a_kind() -> None:
    layers: list[Spec] = [{"python": {"timeout": 1}}, {"python": "./venv"}, {"python": {"timeout": 2}}]
    assert effective_spec("python", KINDS, *layers) == {"timeout": 2, "python": "./venv"}


def test_the_innermost_layer_that_has_a_limit_wins() -> None:
    layers: list[Spec] = [{"limits": {"n": 1}}, {"limits": {"n": 2}}, {"limits": {"m": 3}}, {}, {"limits": 5}]
    assert limit(layers, "n", 9) == 2
    assert limit(layers, "zzz", 9) == 9


def test_a_knob_inside_a_block_is_nothing_where_there_is_no_such_block() -> None:
    assert knob({"result": {"ttl": "1h"}}, "result", "ttl") == "1h"
    without: list[Spec] = [{"result": {}}, {"result": 5}, {}]
    assert [knob(spec, "result", "ttl") for spec in without] == [None, None, None]


def test_a_task_has_the_knobs_of_all_that_is_around_it() -> None:
    text = pipeline(
        """
        - { name: a, kind: http, url: "http://x", spec: { timeout: { connect: 5 } } }
        - { name: b, kind: noop }
        - { name: c, kind: workbook, task: block }
        """,
        head="""
        executor: { spec: { http: { timeout: { connect: 1, read: 1 } }, pool: p, result: { ttl: 1h } } }
        workbook: { block: { tool: { name: d, kind: http, url: "http://x" } } }
        """.replace("\n        ", "\n"),
        step="""
        spec: { timeout: { total: 9 }, policy: { failure: { mode: best_effort } } }
        loop: { in: "{{ [1] }}", iterator: i, spec: { pool: q } }
        """,
    )
    playbook = compile_playbook(text, "p.yaml").playbook
    assert playbook is not None
    program = Program(playbook, kind_defaults={"http": {"verify_tls": True, "pool": "z"}})
    specs = [task.spec for task in program.pipeline("s").tasks]
    assert specs[0] == {
        "verify_tls": True,
        "timeout": {"connect": 5, "read": 1, "total": 9},
        "pool": "q",
        "result": {"ttl": "1h"},
    }
    assert specs[1] == {"timeout": {"total": 9}, "pool": "q", "result": {"ttl": "1h"}}
    inner = program.block_pipeline("block", "s").tasks[0].spec
    assert inner["timeout"] == {"connect": 1, "read": 1, "total": 9}
    assert inner["pool"] == "q"
    assert program.block_pipeline("block", "s") is program.block_pipeline("block", "s")


def test_a_kind_that_a_package_adds_is_layered_and_its_texts_are_left_as_they_are() -> None:
    mail = Kind("mail", "A letter.", {"text": Field("text", Text(), "As it is.")}, texts=("text",))
    kinds = (*BUILT_IN, mail)
    text = """
        apiVersion: noetl.io/v2
        kind: Playbook
        metadata: { name: demo, path: demo }
        executor: { spec: { mail: { pool: z }, timeout: 9 } }
        workflow:
          - step: a
            tool: [ { name: m, kind: mail, text: "{{ 1 }}" }, { name: n, kind: noop } ]
    """
    playbook = compile_playbook(dedent(text), "a.yaml", Vocabulary(kinds)).playbook
    assert playbook is not None
    letter, other = Program(playbook, kinds=kinds).pipeline("a").tasks
    assert (letter.spec, other.spec) == ({"pool": "z", "timeout": 9}, {"timeout": 9})
    assert letter.fields({}) == {"text": "{{ 1 }}"}


@pytest.mark.parametrize(
    ("spec", "timeout_s"), [({}, None), ({"timeout": 3}, 3.0), ({"timeout": {"total": 2.5, "read": 1}}, 2.5)]
)
def test_a_timeout_is_a_number_or_has_a_total(spec: dict[str, object], timeout_s: float | None) -> None:
    assert timeout_of(spec) == timeout_s
