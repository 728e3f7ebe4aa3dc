"""Readable, derived ids: nothing in a log is numbered at random."""

from noetl.engine.events import Path


def entity_id(step_run_id: str, path: Path) -> str:
    """`fetch#2` for a step run, `fetch#2[17,3]` for an iteration."""
    if len(path) == 1:
        return f"{step_run_id}[{path[0]}]"
    return f"{step_run_id}[{','.join(map(str, path))}]" if path else step_run_id


def step_of(step_run_id: str) -> str:
    """`fetch` for `fetch#2`."""
    return step_run_id.partition("#")[0]


def task_label(task_run_id: str) -> str:
    """`get_page` for `fetch#2[17].get_page/3`."""
    return task_run_id.rpartition(".")[2].partition("/")[0]


def is_first_run(task_run_id: str) -> bool:
    """Whether the task had not run before in its pipeline: `fetch#2.get_page/1`."""
    return task_run_id.endswith("/1")


def children_of_task(execution_id: str, task_run_id: str) -> str:
    """What the ids of the children of all runs of a task begin with; the number of the run follows."""
    return f"{execution_id}.{task_run_id.rpartition('/')[0]}/"


def child_execution_id(execution_id: str, task_run_id: str) -> str:
    """The id of the child that a task run starts: the same whenever the start is delivered again."""
    return f"{execution_id}.{task_run_id}"
