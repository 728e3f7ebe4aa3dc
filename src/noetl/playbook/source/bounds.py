"""How deep, how long and how many: the bounds of a playbook's tree."""

DEPTH_MAX = 64
ANCHORS_MAX = 10_000
PROBLEMS_MAX = 100
SCALAR_CHARS_MAX = 1_000_000
NODES_MAX = 1_000_000
# Besides the total, nodes may not be packed tighter than real playbooks are: a file that is one huge list
# of tiny values is refused after a fraction of a second instead of filling the memory first.
NODES_FREE = 100_000
CHARS_PER_NODE_MIN = 8
WINDOW_NODES = 40_000
"""After so many nodes each time, those still to come are reckoned from how tightly these were packed."""
COLLECTION_NODES_MAX = 10_000
"""As many in one collection after the first window: it is data, no playbook."""


def nodes_beyond(nodes: int, offset: int) -> str | None:
    """What is wrong with so many nodes up to an offset."""
    bound = _nodes_max(offset)
    return f"{nodes:,} values up to here; expected at most {bound:,}" if nodes > bound else None


def nodes_to_come_beyond(window: tuple[int, int], nodes: int, offset: int, text_chars: int) -> str | None:
    """What will be wrong if the rest of the text is like the last window, given by the nodes and offset before it."""
    before, start = window
    rest = (text_chars - offset) * (nodes - before) // max(offset - start, 1)
    bound = _nodes_max(text_chars)
    if nodes + rest <= bound:
        return None
    return f"{nodes:,} values up to here, and about {rest:,} more if it goes on like this; expected at most {bound:,}"


def _nodes_max(text_chars: int) -> int:
    return min(NODES_FREE + text_chars // CHARS_PER_NODE_MIN, NODES_MAX)
