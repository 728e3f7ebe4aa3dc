"""A playbook made ready: every template can be found in the file again."""

from noetl.engine.binding import Places
from noetl.engine.program import Program
from noetl.playbook.compile import compile_playbook
from noetl.playbook.kinds import KINDS, Kind
from noetl.playbook.shape import Field, Text
from noetl.playbook.vocabulary import Vocabulary
from tests.engine.driver import Driver
from tests.engine.texts import Answers, pipeline, playbook

EVERYWHERE = playbook(
    """
    - step: a
      spec:
        policy:
          admit:
            rules:
              - else: { then: { allow: "{{ 0 }}" } }
              - { when: "{{ ctx.bad1 + 1 }}", then: { allow: true } }
      input: { x: { y: [ "{{ ctx.bad2 }}" ] } }
      loop:
        in: "{{ ctx.bad3 }}"
        iterator: i
        spec: { mode: parallel, max_in_flight: "{{ ctx.bad4 }}" }
        loop: { in: "{{ ctx.bad5 }}", iterator: j }
      tool:
        - name: t
          kind: postgres
          dsn: "{{ ctx.bad6 }}"
          query: "{{ ctx.bad7 }}"
          input: { params: [ "{{ ctx.bad8 }}" ] }
          spec:
            policy:
              before: [ { when: "{{ ctx.bad10 }}", then: { do: continue, set: { ctx.a: "{{ ctx.bad11 }}" } } } ]
              rules:
                - else: { then: { do: continue, set: { ctx: { b: "{{ ctx.bad12 }}" } } } }
                - { when: "{{ ctx.bad13 }}", then: { do: retry, delay: "{{ ctx.bad14 }}" } }
          set: { iter.c: "{{ ctx.bad15 }}" }
        - name: pick
          choose:
            - { when: "{{ ctx.bad16 }}", tool: { kind: noop, name: p } }
            - { when: "{{ ctx.bad17 }}", tool: { kind: noop, name: q } }
        - { name: again, while: { when: "{{ ctx.bad18 }}", tool: { name: r, kind: noop } } }
        - { name: once, until: { when: "{{ ctx.bad19 }}", tool: { name: u, kind: noop } } }
        - { name: auth, kind: http, url: "http://x", auth: "{{ ctx.bad20 }}" }
      set: { ctx.d: "{{ ctx.bad21 }}" }
      next:
        arcs:
          - { step: b, when: "{{ ctx.bad22 }}", set: { ctx.e: "{{ ctx.bad23 }}" } }
    - { step: b, tool: { name: w, kind: workbook, task: block, input: { z: "{{ ctx.bad24 }}" } } }
    """.replace('allow: "{{ 0 }}"', "allow: false"),
    head="""
    workbook:
      block:
        input: { n: "{{ ctx.bad25 }}" }
        loop: { in: "{{ ctx.bad26 }}", iterator: k }
        tool: { name: v, kind: python, code: "{{ no template }}", input: { m: "{{ ctx.bad27 }}" } }
    """.replace("\n    ", "\n"),
)


def test_the_paths_of_the_engine_are_those_of_the_source_map() -> None:
    compilation = compile_playbook(EVERYWHERE, "p.yaml")
    assert compilation.playbook is not None, [found.message for found in compilation.diagnostics]
    spans = compilation.source_map()
    program = Program(compilation.playbook, Places("p.yaml", spans))
    paths = {use.place.path for use in compilation.document.notes.templates} if compilation.document else set()
    found = set(_engine_paths(program))
    assert found == paths
    assert all("bad" in EVERYWHERE.splitlines()[spans[path].line - 1] for path in paths)


def _engine_paths(program: Program) -> list[str]:
    """Where each evaluator of the program points when its template fails."""
    found: list[str] = []
    for step in program.steps.values():
        evaluators = [step.input, step.set, *(test for test, _ in step.admit or ())]
        evaluators += [part for level in step.levels for part in (level.items, level.max_in_flight)]
        evaluators += [part for arc in step.arcs for part in (arc.when, arc.set, arc.args)]
        for evaluate in evaluators:
            found.extend(_paths_of(evaluate))
    pipelines = [program.pipeline(name) for name in program.steps] + [program.block_pipeline("block", "b")]
    for ready in pipelines:
        for task in ready.tasks:
            rules = [part for rule in (*task.before, *(task.rules or ())) for part in (rule.when, rule.set, rule.delay)]
            for evaluate in [task.fields, task.input, task.auth, task.set, *rules]:
                found.extend(_paths_of(evaluate))
    block = program.block("block")
    assert block is not None
    return [*found, *_paths_of(block.input), *(path for level in block.levels for path in _paths_of(level.items))]


def _paths_of(evaluate: object) -> list[str]:
    """The paths in the cells of a closure and of those it calls."""
    cells = [cell.cell_contents for cell in getattr(evaluate, "__closure__", None) or ()]
    own = [cell for cell in cells if isinstance(cell, str) and cell.startswith(("workflow/", "workbook/"))]
    is_template = any(type(cell).__name__ == "Template" for cell in cells)
    nested = [
        part for cell in cells if isinstance(cell, list) for pair in cell for part in _flat(pair) if callable(part)
    ]
    nested += [cell for cell in cells if callable(cell)]
    return (own if is_template else []) + [path for part in nested for path in _paths_of(part)]


def _flat(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_a_block_that_is_not_there_is_none() -> None:
    compilation = compile_playbook(EVERYWHERE, "p.yaml")
    assert compilation.playbook is not None
    program = Program(compilation.playbook)
    assert program.block("nope") is None
    assert program.block("block") is program.block("block")


def test_a_step_reaches_what_its_arcs_lead_to_and_itself_only_through_a_cycle() -> None:
    text = playbook(
        """
        - { step: a, next: { spec: { mode: inclusive }, arcs: [ { step: b }, { step: c } ] } }
        - { step: b, tool: { kind: noop }, next: { arcs: [ { step: c, when: "{{ ctx.x }}" }, { step: b } ] } }
        - { step: c, tool: { kind: noop } }
        """
    )
    found = compile_playbook(text, "p.yaml").playbook
    assert found is not None
    assert Program(found).reach == {"a": {"b", "c"}, "b": {"b", "c"}, "c": set()}


def test_code_is_never_a_template() -> None:
    answers = Answers()
    Driver(pipeline('- { name: a, kind: python, code: "x = {{ 1 + }}", input: { y: "{{ 1 + 1 }}" } }'), answers).run()
    assert answers.calls == [("a", {"code": "x = {{ 1 + }}"}, {"y": 2})]


def test_a_program_knows_which_outputs_are_stored_whatever_their_size() -> None:
    read = Driver(pipeline('- { name: a, kind: python, code: x, set: { ctx.a_ref: "{{ output.ref }}" } }')).program
    assert read.kept.tasks == {("workflow/s", "a")}
    assert not Driver(pipeline("- { name: a, kind: python, code: x }")).program.kept.tasks


def test_the_line_of_a_text_is_known_for_every_kind_that_the_program_was_made_with() -> None:
    text = playbook(
        """
        - step: a
          tool:
            - { name: own, kind: python, code: "result = 1" }
            - { name: added, kind: echo, raw: "as it is" }
            - { name: none, kind: noop }
        """
    )
    echo = Kind("echo", "It says so.", fields={"raw": Field("raw", Text(), "As it is.")}, texts=("raw",))
    kinds = [*KINDS, echo]
    compiled = compile_playbook(text, "etl.yaml", Vocabulary(kinds))
    assert compiled.playbook is not None
    program = Program(compiled.playbook, Places("etl.yaml", compiled.source_map()), kinds=kinds)
    tasks = program.pipeline("a").tasks
    lines = {line.strip(): number for number, line in enumerate(text.splitlines(), 1)}
    assert [program.text_line(task) for task in tasks] == [
        lines['- { name: own, kind: python, code: "result = 1" }'],
        lines['- { name: added, kind: echo, raw: "as it is" }'],
        0,
    ]
