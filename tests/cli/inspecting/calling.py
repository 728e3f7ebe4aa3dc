"""An execution that calls others, one for each number."""

from tests.runtime import head

CALLED = f"""{head("called")}
workload: {{ i: 0 }}
workflow:
  - step: only
    tool: {{ name: only, kind: python, code: x, input: {{ i: "{{{{ workload.i }}}}" }} }}
"""


def caller(count: int) -> str:
    return f"""{head("caller")}
workflow:
  - step: ask
    loop: {{ in: "{{{{ range({count}) | list }}}}", iterator: i, spec: {{ mode: parallel, max_in_flight: {count} }} }}
    spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
    tool: {{ name: ask, kind: playbook, path: called, input: {{ i: "{{{{ iter.i }}}}" }} }}
"""
