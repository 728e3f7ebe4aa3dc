from noetl.playbook.document import Document, Frame, Place
from tests.playbook.texts import document, with_step, with_tool


def test_a_place_knows_its_path_its_task_and_the_loops_around_it() -> None:
    place = Place(Frame('step "a"'), "workflow/a")
    assert not place.in_loop
    inside = place.in_iteration("row").of_task("get").at("url").at(0)
    assert (inside.path, inside.task, inside.iterators, inside.in_loop) == (
        "workflow/a/get/url/0",
        "get",
        ("row",),
        True,
    )


def test_a_frame_knows_its_tasks() -> None:
    frame = document(with_step("tool: { kind: http, url: '{{ ctx.a }}' }")).notes.templates[0].place.frame
    assert (frame.title, frame.tasks) == ('step "load"', ("load_task",))


def test_a_part_of_the_model_leads_back_to_its_node() -> None:
    found = document(with_tool("- { name: a, kind: noop }"))
    step = found.playbook.workflow[0]
    assert found.node(step).get("step") is not None
    assert found.node(step.tool[0]).line == 7


def test_a_question_is_answered_once() -> None:
    asked = []

    def question(about: Document) -> int:
        asked.append(about)
        return len(asked)

    found = document(with_tool("{ kind: noop }"))
    assert (found.once(question), found.once(question), len(asked)) == (1, 1, 1)
