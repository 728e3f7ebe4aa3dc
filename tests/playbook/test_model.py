from noetl.playbook.model import Playbook, decode, encode
from tests.playbook.texts import model, whole

TEXT = whole(
    """
    workload: { a: 1, b: [1, 2.5, null, true, "x"] }
    workflow:
      - step: load
        loop: { in: "{{ workload.b }}", iterator: row }
        tool:
          - { name: get, kind: http, input: { url: "https://example.com", params: { p: 1, q: 2 } } }
        set: { ctx.a: 1, ctx.b: 2 }
        next:
          spec: { mode: inclusive }
          arcs:
            - { step: load, when: "{{ false }}" }
    """
)

RESPELT = """\
# The same playbook in other words.
workflow:
- next: {arcs: [{when: '{{ false }}', step: load}], spec: {mode: inclusive}}
  set: {ctx: {b: 2, a: 1}}
  tool:
  - kind: http
    name: get
    url: https://example.com   # a comment
    params:
      q: 2
      p: 1
  loop:
    iterator: row
    in: "{{ workload.b }}"
    spec: {mode: sequential}
  step: load
workload:
  b:
  - 1
  - 2.5
  -
  - true
  - "x"
  a: 1
metadata:
  path: demo
  name: demo
kind: "Playbook"
apiVersion: 'noetl.io/v2'
"""


def test_the_digest_does_not_depend_on_comments_formatting_spelling_or_the_order_of_keys() -> None:
    assert model(TEXT).digest == model(RESPELT).digest


def test_the_digest_changes_with_the_meaning() -> None:
    changed = {
        TEXT.replace("a: 1, b", "a: 2, b"),
        TEXT.replace("inclusive", "exclusive"),
        TEXT.replace("[1, 2.5", "[2.5, 1"),
        TEXT.replace("name: get", "name: fetch"),
        TEXT.replace("{{ false }}", "{{ true }}"),
        TEXT.replace('"x"', "5"),
        TEXT.replace("path: demo", "path: other"),
    }
    digests = {model(text).digest for text in (TEXT, *changed)}
    assert len(digests) == 1 + len(changed)


def test_the_digest_is_a_sha256_in_hexadecimal() -> None:
    assert len(model(TEXT).digest) == 64
    assert int(model(TEXT).digest, 16) > 0


def test_a_playbook_survives_encoding() -> None:
    playbook = model(TEXT)
    decoded = decode(encode(playbook))
    assert isinstance(decoded, Playbook)
    assert decoded == playbook
    assert decoded.digest == playbook.digest
