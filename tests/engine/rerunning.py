"""The rerun of an execution whose log is at hand: the two passes that the control plane makes over a stored one."""

from collections.abc import Sequence

from noetl.engine import events as e
from noetl.engine.commands import Rejection, RequestExecution
from noetl.engine.program import Program
from noetl.engine.rerun import Cut, Takeover, plan
from noetl.engine.survey import UNREAD, Survey


def rerun(
    program: Program,
    execution_id: str,
    facts: Sequence[e.Fact],
    cut: Cut,
    *,
    now: float,
    text: Program | None = None,
) -> RequestExecution | Rejection:
    survey = Survey()
    for seq, fact in enumerate(facts, 1):
        if type(fact) not in UNREAD:
            survey.note(seq, fact)
    planned = plan(execution_id, survey, cut)
    if isinstance(planned, Rejection):
        return planned
    takeover = Takeover(program, planned, text)
    for fact in facts:
        takeover.note(fact)
    return takeover.request(now)
