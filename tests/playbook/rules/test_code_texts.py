from noetl.playbook.rules.code_texts import code_texts, sql_texts
from tests.playbook.texts import document, with_tool

TASKS = with_tool(
    """
    - { name: a, kind: python, code: "result = 1" }
    - { name: b, kind: python, code: [1] }
    - { name: c, kind: python, file: x.py }
    - { name: d, kind: unheard, code: x }
    - { name: e, kind: postgres, auth: db, command: SELECT 1 }
    - { name: f, kind: duckdb, input: { query: SELECT 2, command: 5 } }
    - { name: g, kind: duckdb, args: { command: SELECT 3 } }
    """
)


def test_code_is_found_on_tasks_whose_kind_has_some() -> None:
    assert [(text.task.task.name, text.key) for text in code_texts(document(TASKS))] == [("a", "code")]


def test_statements_are_found_on_the_task_and_under_its_input() -> None:
    found = [(text.task.task.name, text.key, text.node.text) for text in sql_texts(document(TASKS))]
    assert found == [("e", "command", "SELECT 1"), ("f", "query", "SELECT 2"), ("g", "command", "SELECT 3")]
