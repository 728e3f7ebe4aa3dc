"""Finds inclusive fan-outs whose branches come together again at a step that does not join them.

Each arc of the fan-out marks the steps it leads to, breadth first, along successes. Where two marks of arcs that can
be taken together meet, the step runs twice. Branches wait at a `join: all` and leave it as one.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from noetl.playbook.model import Join, RouteMode, Step
from noetl.playbook.net.findings import MeetWithoutJoin
from noetl.playbook.net.net import Net

VISITS_MAX = 200_000
"""Steps looked at for all fan-outs together; the search ahead of each gets an equal share."""
VISITS_MIN = 50
"""The share that each fan-out gets at least."""


def find_meetings(net: Net, order: Sequence[Sequence[int]]) -> Iterator[MeetWithoutJoin]:
    """`order` are the components of the net, those that others lead to first."""
    fan_outs = [number for number in sorted(net.runs) if _fans_out(net.steps[number])]
    if not fan_outs:
        return
    share = max(VISITS_MIN, VISITS_MAX // len(fan_outs))
    depth = {number: position for position, group in enumerate(order) for number in group}
    for fan_out in fan_outs:
        found = _Search(net, fan_out, depth, share).run()
        if found is not None:
            yield found


def _fans_out(step: Step) -> bool:
    return step.next.mode is RouteMode.INCLUSIVE and len(step.next.arcs) > 1


class _Search:
    """One search ahead of one fan-out. A mark is a bit; the bits of a step are the branches that come to it."""

    def __init__(self, net: Net, fan_out: int, depth: Mapping[int, int], share: int) -> None:
        self._net = net
        self._fan_out = fan_out
        self._depth = depth
        self._share = share
        self._ways = net.success_ways[fan_out]
        self._companions = _companions(net, fan_out)
        self._marks: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        self._queue: deque[tuple[int, int]] = deque()

    def run(self) -> MeetWithoutJoin | None:
        for branch, way in enumerate(self._ways):
            met = self._arrive(way.target, branch)
            if met is not None:
                return self._finding(way.target, met, branch)
        for _ in range(self._share):
            if not self._queue and not self._release():
                return None
            number, branch = self._queue.popleft()
            for target in self._net.after_success(number):
                met = self._arrive(target, branch)
                if met is not None:
                    return self._finding(target, met, branch)
        return None

    def _arrive(self, number: int, branch: int) -> int | None:
        """Marks the step; gives the other branch if one that can be taken together was there before."""
        marks = self._marks.get(number, 0)
        if marks >> branch & 1:
            return None
        self._marks[number] = marks | 1 << branch
        step = self._net.steps[number]
        if step.join is Join.ALL:
            if not marks:
                self._waiting[number] = branch
            return None
        met = marks & self._companions[branch]
        if met and _has_effect(step):
            return (met & -met).bit_length() - 1
        if number in self._net.runs and number != self._fan_out:
            self._queue.append((number, branch))
        return None

    def _release(self) -> bool:
        """Lets the earliest waiting join go on, once nothing else can come to it."""
        if not self._waiting:
            return False
        number = max(self._waiting, key=lambda each: self._depth.get(each, -1))
        branch = self._waiting.pop(number)
        if number in self._net.runs and number != self._fan_out:
            self._queue.append((number, branch))
        return bool(self._queue) or self._release()

    def _finding(self, meeting: int, one: int, other: int) -> MeetWithoutJoin:
        step = self._net.steps[self._fan_out]
        arcs = (step.next.arcs[self._ways[one].index], step.next.arcs[self._ways[other].index])
        return MeetWithoutJoin(step, self._net.steps[meeting], arcs)


def _has_effect(step: Step) -> bool:
    """A bare last step, often called `end`, may run as often as it likes."""
    return bool(step.tool or step.loop or step.set or step.next.arcs)


def _companions(net: Net, number: int) -> list[int]:
    """For each branch, the branches that can be taken together with it. Equal guards are looked at once."""
    route = net.routes[number]
    rows = route.success & ~route.odd
    guards = [route.choices.taken[way.index].may & rows for way in net.success_ways[number]]
    members: dict[int, int] = {}
    for branch, guard in enumerate(guards):
        members[guard] = members.get(guard, 0) | 1 << branch
    together = {guard: sum(bits for other, bits in members.items() if guard & other) for guard in members}
    return [together[guard] & ~(1 << branch) for branch, guard in enumerate(guards)]
