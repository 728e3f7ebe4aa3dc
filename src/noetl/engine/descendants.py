"""How many executions may come from one: a chain is bounded by its depth, and a tree by shares that get smaller.

No counter is kept for a tree. A child is told its share when it starts, and the shares alone bound what can follow.
"""

from noetl.engine.view import StateView

CHILDREN_MAX = 100_000
"""The most child executions that one without a parent may start."""

CHILD_DIVISOR = 4
"""The first child gets one part in so many of its parent's share, the second half of that, the third a third of it.

With it a playbook that calls itself twice ends after about 3,000 executions, and ten times after 700,000. Of 1,000
children each may still start 25. Whatever playbooks do, a tree stays under 22 million executions, 32 deep.
"""


def children_max(state: StateView) -> int:
    """The most children that an execution may start. An older log does not say: it had no bound of its own."""
    share = state.parent.share if state.parent is not None else 0
    return share or CHILDREN_MAX


def child_share(state: StateView, number: int) -> int:
    """What the execution's child of that number may start; always one, so that a chain is bounded by depth alone."""
    return max(1, children_max(state) // (CHILD_DIVISOR * number))
