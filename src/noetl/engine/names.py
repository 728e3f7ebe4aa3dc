"""Readable, derived ids: nothing in a log is numbered at random."""

from noetl.engine.events import Path


def entity_id(step_run_id: str, path: Path) -> str:
    """`fetch#2` for a step run, `fetch#2[17,3]` for an iteration."""
    return f"{step_run_id}[{','.join(map(str, path))}]" if path else step_run_id


def child_execution_id(execution_id: str, task_run_id: str) -> str:
    """The id of the child that a task run starts: the same whenever the start is delivered again."""
    return f"{execution_id}.{task_run_id}"
