"""What tests of the tree share: a playbook in all scalar styles, and walks over nodes."""

from collections.abc import Iterator

from hypothesis import strategies as st

from noetl.playbook.source.read import Mapping, Node, Scalar, Sequence, Source, SourceProblem, read_source

BOOK = r"""# a playbook in every style
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: styles, path: 'tests/it''s', tags: [a, "b c", ~]}
workload:
  empty:
  plain: text over
    two lines

    and a third
  single: 'two  lines

    ''quoted'' text'
  double: "esc \x41\u00e9\U0001F600\t\"q\" \
     joined\

     and   folded

     twice"
  folded: >-
    some words
    in a line

      kept as it is

    end
  explicit: |2
      more
    less
  kept: |+
    text

  emoji: 😀 and é  # a comment
workflow:
  - step: "one"
    tool: &tool
      kind: noop
      rows: [1, 2.5, true, {deep: [x, y]}]
    next: {arcs: [{step: two, when: "{{ output.data == 'x' }}"}]}
  - step: two
    tool: *tool
"""


def read(text: str | bytes) -> Source:
    """A source without problems."""
    source, problems = read_source(text, "book.yaml")
    assert problems == []
    return source


def root_of(text: str) -> Mapping:
    root = read(text).root
    assert root is not None
    return root


def scalar_of(source: Source, key: str) -> Scalar:
    assert source.root is not None
    node = source.root.get(key)
    assert isinstance(node, Scalar)
    return node


def nodes_of(root: Node | None) -> Iterator[Node]:
    """Every node, keys included, each as often as the file shows it."""
    open_nodes = [root] if root is not None else []
    while open_nodes:
        node = open_nodes.pop()
        yield node
        if isinstance(node, Sequence):
            open_nodes += node.items
        elif isinstance(node, Mapping):
            for entry in node.entries:
                open_nodes += (entry.key, entry.value)


def scalars_of(root: Node | None) -> list[Scalar]:
    return [node for node in nodes_of(root) if isinstance(node, Scalar)]


def plain_data(node: Node) -> object:
    """The values alone, as any YAML loader would give them."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain_data(item) for item in node.items]
    return {entry.key.value: plain_data(entry.value) for entry in node.entries}


TOKENS = [
    *("{", "}", "[", "]", ":", ": ", "- ", "\n", "\t", '"', "'", "|", ">", "&a ", "*a", "!t ", "#", " #"),
    *("%", "@", "`", "{{ x }}", "\r\n", "\r", "\x85", "\u2028", "\ufeff", "\0", "\\", "---\n", "...\n", ","),
    *("? ", "  ", "😀", "<<: *a\n", "%TAG ! x\n"),
]


@st.composite
def mutated_books(draw: st.DrawFn) -> str:
    """The playbook with pieces cut, doubled and put in, in one of three line endings."""
    text = BOOK.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"])))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(start + 20, len(text))))
        piece = draw(st.sampled_from(["", text[start:end] * 2, *TOKENS]))
        text = text[:start] + piece + text[end:]
    return draw(st.sampled_from(["", "\ufeff"])) + text


def problems_of(text: str | bytes) -> list[SourceProblem]:
    return read_source(text, "book.yaml")[1]


def only_problem(text: str | bytes) -> SourceProblem:
    [problem] = problems_of(text)
    return problem
