"""Playbooks that between them use everything: loops, blocks, children, joins, waits, failures."""

HEAD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: demo, path: demo }
"""

PAGES = f"""{HEAD}
workload: {{ endpoints: [ {{ path: a, n: 3 }}, {{ path: b, n: 2 }} ] }}
workflow:
  - step: start
    set: {{ ctx.total: 0, ctx.limits.pages: 9 }}
    next: {{ arcs: [ {{ step: fetch_all }} ] }}
  - step: fetch_all
    loop:
      in: "{{{{ workload.endpoints }}}}"
      iterator: endpoint
      spec: {{ mode: parallel, max_in_flight: 2, policy: {{ reduce: {{ total: sum, rows: append }} }} }}
    tool:
      - name: init
        kind: noop
        set: {{ iter.page: 1 }}
      - name: fetch
        kind: http
        input: {{ url: "http://x/{{{{ iter.endpoint.path }}}}", params: {{ page: "{{{{ iter.page }}}}" }} }}
        spec:
          policy:
            rules:
              - when: "{{{{ output.status == 'error' }}}}"
                then: {{ do: retry, attempts: 3, delay: 100, backoff: exponential }}
              - else:
                  then:
                    do: continue
                    set:
                      iter.more: "{{{{ output.data.page < iter.endpoint.n }}}}"
                      ctx.total: "{{{{ iter.page }}}}"
                      ctx.rows: "{{{{ iter.endpoint.path }}}}"
      - name: paginate
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{{{ iter.more }}}}"
                then: {{ do: jump, to: fetch, set: {{ iter.page: "{{{{ iter.page + 1 }}}}" }} }}
              - else: {{ then: {{ do: break }} }}
    next:
      arcs:
        - {{ step: never, when: "{{{{ event.loop.failed > 0 }}}}" }}
        - {{ step: done, when: "{{{{ event.name == 'loop.done' }}}}", set: {{ ctx.limits.seen: true }} }}
        - {{ step: other }}
  - step: never
    tool: {{ kind: python, code: x }}
  - step: other
    tool: {{ kind: python, code: x }}
  - step: done
    tool: {{ kind: python, code: x, input: {{ t: "{{{{ ctx.total }}}}" }} }}
"""

NESTED = f"""{HEAD}
workflow:
  - step: cities
    spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
    loop:
      in: [ [1, 2], [3] ]
      iterator: city
      spec: {{ mode: parallel, max_in_flight: 2 }}
      loop:
        in: "{{{{ iter.city }}}}"
        iterator: hotel
    tool:
      kind: python
      code: x
      input: {{ hotel: "{{{{ iter.hotel }}}}" }}
      set: {{ step.last: "{{{{ iter.hotel }}}}" }}
"""

BLOCKS = f"""{HEAD}
workflow:
  - step: call
    tool:
      - name: ready
        kind: noop
        spec:
          policy:
            before: [ {{ else: {{ then: {{ do: skip, set: {{ ctx.began: true }} }} }} }} ]
            rules: [ {{ else: {{ then: {{ do: continue }} }} }} ]
      - name: twice
        kind: workbook
        task: twice
        input: {{ base: 5 }}
        set: {{ ctx.twice: "{{{{ output.data }}}}" }}
      - name: once
        kind: workbook
        task: once
        spec:
          policy:
            before: [ {{ else: {{ then: {{ do: continue, set: {{ ctx.before: 1 }} }} }} }} ]
            rules: [ {{ else: {{ then: {{ do: continue }} }} }} ]
workbook:
  twice:
    loop: {{ in: [1, 2], iterator: number }}
    tool:
      - name: add
        kind: python
        code: x
        input: {{ n: "{{{{ iter.number }}}}" }}
        set: {{ ctx.added: "{{{{ output.data }}}}" }}
  once:
    tool:
      - {{ name: single, kind: python, code: x, set: {{ ctx.single: "{{{{ output.data }}}}" }} }}
"""

PARENT = f"""{HEAD}
workflow:
  - step: ask
    tool: {{ name: child, kind: playbook, path: other, input: {{ n: 1 }} }}
    set: {{ ctx.answer: "{{{{ output.data }}}}" }}
"""

CHILD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: other, path: other }
workload: { n: 0 }
workflow:
  - step: work
    tool: { kind: python, code: x, input: { n: "{{ workload.n }}" } }
"""

FAN = f"""{HEAD}
workflow:
  - step: start
    next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: left }}, {{ step: right }} ] }}
  - step: left
    tool: {{ kind: python, code: x }}
    next: {{ arcs: [ {{ step: both }} ] }}
  - step: right
    tool: {{ kind: python, code: x }}
    next: {{ arcs: [ {{ step: both }} ] }}
  - step: both
    spec: {{ join: all }}
    tool: {{ kind: python, code: x, input: {{ from: "{{{{ input.joined }}}}" }} }}
"""

DOORS = f"""{HEAD}
workload: {{ open: false }}
workflow:
  - step: start
    next:
      spec: {{ mode: inclusive }}
      arcs: [ {{ step: by_rule }}, {{ step: by_else }}, {{ step: by_none }}, {{ step: patient }}, {{ step: slow }} ]
  - step: by_rule
    spec:
      policy:
        admit:
          rules:
            - {{ when: "{{{{ not workload.open }}}}", then: {{ allow: false }} }}
            - {{ else: {{ then: {{ allow: true }} }} }}
    tool: {{ kind: python, code: x }}
  - step: by_else
    spec: {{ policy: {{ admit: {{ rules: [ {{ else: {{ then: {{ allow: false }} }} }} ] }} }} }}
    tool: {{ kind: python, code: x }}
  - step: by_none
    spec:
      policy: {{ admit: {{ rules: [ {{ when: "{{{{ workload.open }}}}", then: {{ allow: true }} }} ] }} }}
    tool: {{ kind: python, code: x }}
  - step: patient
    spec:
      policy:
        admit:
          rules: [ {{ when: "{{{{ ctx.go | default(false) }}}}", then: {{ allow: true }} }} ]
          on_deny: wait
    tool: {{ kind: python, code: x }}
  - step: slow
    tool: {{ kind: python, code: x }}
    set: {{ ctx.go: true }}
"""

REDUCED = f"""{HEAD}
workflow:
  - step: sums
    loop:
      in: [ [1, 2], [3, 4], [5] ]
      iterator: row
      spec: {{ mode: parallel, max_in_flight: 3, policy: {{ reduce: {{ total: sum, names: append }} }} }}
      loop:
        in: "{{{{ iter.row }}}}"
        iterator: number
        spec: {{ mode: parallel, max_in_flight: 2, policy: {{ reduce: {{ total: sum, names: append }} }} }}
    tool:
      name: take
      kind: python
      code: x
      input: {{ name: "n{{{{ iter.parent.index }}}}-{{{{ iter.number }}}}" }}
      spec:
        policy:
          rules:
            - {{ when: "{{{{ output.error.kind == 'busy' }}}}", then: {{ do: retry, delay: 3600 }} }}
            - {{ when: "{{{{ output.status == 'error' }}}}", then: {{ do: fail }} }}
            - else: {{ then: {{ do: continue }} }}
      set: {{ ctx.total: "{{{{ iter.number }}}}", ctx.names: "{{{{ output.data.name }}}}" }}
"""
