from noetl.expressions.sites import Site
from noetl.playbook.document import Document
from noetl.playbook.model import Join
from noetl.playbook.reading import child, choice, entries, items, mapping, mappings, number, option, text
from noetl.playbook.source.nodes import Mapping
from tests.playbook.texts import document, whole, with_step, with_tool


def workload(body: str) -> Mapping:
    found = document(whole(f"workload: {body}\nworkflow: [ {{ step: a, tool: {{ kind: noop }} }} ]\n")).root.get(
        "workload"
    )
    assert isinstance(found, Mapping)
    return found


NODE = workload(
    "{ a: text, n: 1.5, endless: .inf, yes: true, nothing: , list: [ 1, { b: 2 } ], map: { c: 3 }, join: all }"
)


def test_what_is_not_of_the_wanted_type_is_not_there() -> None:
    assert (text(NODE, "a"), text(NODE, "n"), text(NODE, "nothing"), text(NODE, "list")) == ("text", "1.5", None, None)
    assert (number(NODE, "n"), number(NODE, "a"), number(NODE, "yes"), number(NODE, "map")) == (1.5, None, None, None)
    assert number(NODE, "endless") is None
    assert (len(items(NODE, "list")), items(NODE, "map"), len(mappings(NODE, "list"))) == (2, (), 1)
    assert ([entry.key.text for entry in entries(NODE, "map")], entries(NODE, "list")) == (["c"], ())
    assert (mapping(NODE, "map") is not None, mapping(NODE, "a"), mapping(None, "a")) == (True, None, None)
    assert (child(NODE, "a") is not None, child(child(NODE, "a"), "b")) == (True, None)


def test_a_word_that_is_none_of_the_options_is_the_default() -> None:
    assert choice(NODE, "join", Join, Join.EACH) is Join.ALL
    assert choice(NODE, "a", Join, Join.EACH) is Join.EACH
    assert option(NODE, "a", Join) is None


def templates(found: Document) -> list[tuple[str, Site, str]]:
    return [(use.template.text, use.site, use.place.path) for use in found.notes.templates]


def test_templates_are_noted_with_their_site_and_place() -> None:
    found = document(
        with_step(
            """
            input: { a: "{{ ctx.a }}", b: [ { c: "{{ ctx.c }}" } ], d: plain }
            tool: { name: get, kind: http, url: "{{ input.a }}" }
            """
        )
    )
    assert templates(found) == [
        ("{{ ctx.a }}", Site.STEP_INPUT, "workflow/load/input/a"),
        ("{{ ctx.c }}", Site.STEP_INPUT, "workflow/load/input/b/0/c"),
        ("{{ input.a }}", Site.TASK_INPUT, "workflow/load/tool/get/url"),
    ]


def test_code_is_never_a_template_and_is_noted_as_plain_where_it_looks_like_one() -> None:
    found = document(with_tool("{ name: a, kind: python, code: \"x = '{{ y }}'\" }"))
    assert templates(found) == []
    assert [node.text for node in found.notes.plain] == ["x = '{{ y }}'"]


def test_numbers_without_end_are_noted_and_others_are_not() -> None:
    body = "workload: { a: .inf, b: [ .nan, 1.5, 18446744073709551615 ] }\nworkflow: []\n"
    assert [node.text for node in document(whole(body)).notes.numbers] == [".inf", ".nan"]


def test_a_number_may_be_one_template_and_other_text_is_no_number() -> None:
    def delays(value: str) -> object:
        rule = f"{{ when: true, then: {{ do: retry, delay: {value} }} }}"
        found = document(with_tool(f"{{ kind: noop, spec: {{ policy: {{ rules: [ {rule} ] }} }} }}"))
        policy = found.playbook.workflow[0].tool[0].policy
        assert policy is not None
        return policy.rules[0].then.delay

    assert delays("'{{ ctx.d }}'") == "{{ ctx.d }}"
    assert delays("2") == 2.0
    assert delays("soon") == 1.0


def test_set_targets_are_flat_paths_whatever_their_spelling() -> None:
    found = document(
        with_step(
            """
            tool:
              kind: noop
              spec:
                policy:
                  rules:
                    - else:
                        then:
                          do: continue
                          set_ctx: { a: 1 }
                          set_iter: { b.c: 2 }
                          set: { ctx.d: 3, step: { e: 4 }, ctx: 5, other: 6 }
            """
        )
    )
    assert [use.target for use in found.notes.sets] == [
        "iter.b.c", "ctx.a", "ctx.d", "step.e", "ctx", "other",
    ]  # fmt: skip
    assert all(use.site is Site.RULE_SET for use in found.notes.sets)


def test_a_set_that_is_no_mapping_writes_nothing() -> None:
    assert document(with_step("tool: { kind: noop }\nset: 5")).notes.sets == []
