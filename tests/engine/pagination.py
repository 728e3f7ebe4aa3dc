"""The pagination examples of the specification, of each age."""

from tests.engine.texts import playbook

OLDEST = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: pagination, path: tests/pagination }
keychain: [ { name: pg_k8s, kind: postgres_credential } ]
workload:
  api_url: "http://api"
  endpoints: [ { path: /a2, page_size: 2 }, { path: /b1, page_size: 2 } ]
workflow:
  - step: fetch_all_endpoints
    spec:
      next_mode: exclusive

    when: "{{ true }}"

    loop:
      spec: { mode: sequential }
      in: "{{ workload.endpoints }}"
      iterator: endpoint

    tool:
      - init:
          kind: noop
          eval:
            - else:
                do: continue
                set_iter: { page: 1, has_more: true }

      - fetch_page:
          kind: http
          spec:
            timeout: { connect: 5, read: 15 }
          method: GET
          url: "{{ workload.api_url }}{{ iter.endpoint.path }}"
          params:
            page: "{{ iter.page }}"
            pageSize: "{{ iter.endpoint.page_size }}"
          eval:
            - expr: "{{ outcome.status == 'error' and outcome.http.status in [429,500,502,503,504] }}"
              do: retry
              attempts: 10
              backoff: exponential
              delay: 2.0
            - expr: "{{ outcome.status == 'error' }}"
              do: fail
            - else:
                do: continue
                set_iter:
                  has_more: "{{ outcome.result.data.paging.hasMore | default(false) }}"
                  page: "{{ outcome.result.data.paging.page | default(iter.page) }}"
                  items: "{{ outcome.result.data.data | default([]) }}"

      - save_page:
          kind: postgres
          spec: { timeout: 30 }
          auth: pg_k8s
          command: |
            INSERT INTO pagination_test_results DEFAULT VALUES
          eval:
            - expr: "{{ outcome.status == 'error' and outcome.pg.code in ['40001','40P01'] }}"
              do: retry
              attempts: 5
              backoff: exponential
              delay: 2.0
            - expr: "{{ outcome.status == 'error' }}"
              do: fail
            - else:
                do: continue

      - paginate:
          kind: noop
          eval:
            - expr: "{{ iter.has_more == true }}"
              do: jump
              to: fetch_page
              set_iter:
                page: "{{ (iter.page | int) + 1 }}"
            - else:
                do: break

    next:
      - step: validate_results
        when: "{{ event.name == 'loop.done' }}"
      - step: cleanup
        when: "{{ event.name == 'step.failed' }}"
  - step: validate_results
    tool: [ { validate: { kind: noop } } ]
  - step: cleanup
    tool: [ { clean: { kind: noop } } ]
"""

V10 = """\
apiVersion: noetl.io/v10
kind: Playbook
metadata: { name: pagination, path: tests/pagination_v10 }
keychain: [ { name: pg_k8s, kind: postgres_credential } ]
workload:
  api_url: "http://api"
  endpoints: [ { path: /a2, page_size: 2 }, { path: /missing, page_size: 2 }, { path: /b1, page_size: 2 } ]
workflow:
  - step: fetch_all_endpoints
    spec:
      policy:
        admit: { rules: [ { else: { then: { allow: true } } } ] }
        lifecycle: { timeout_s: 600 }
        failure: { mode: best_effort }
    loop:
      in: "{{ workload.endpoints }}"
      iterator: endpoint
      spec: { mode: parallel, max_in_flight: 10, policy: { exec: distributed } }
    tool:
      - name: init_iter
        kind: noop
        spec: { policy: { rules: [ { else: { then: { do: continue, set_iter: { page: 1, has_more: true } } } } ] } }
      - name: fetch_page
        kind: http
        method: GET
        url: "{{ workload.api_url }}{{ iter.endpoint.path }}"
        params: { page: "{{ iter.page }}", pageSize: "{{ iter.endpoint.page_size }}" }
        spec:
          timeout: { connect: 5, read: 15 }
          policy:
            rules:
              - when: "{{ outcome.status == 'error' and outcome.http.status in [429,500,502,503,504] }}"
                then: { do: retry, attempts: 10, backoff: exponential, delay: 2.0 }
              - when: "{{ outcome.status == 'error' and outcome.http.status in [401,403] }}"
                then: { do: fail }
              - else:
                  then:
                    do: continue
                    set_iter:
                      http_status: "{{ outcome.http.status | default(200) }}"
                      has_more: "{{ outcome.result.data.paging.hasMore | default(false) }}"
                      page: "{{ outcome.result.data.paging.page | default(iter.page) }}"
                      items: "{{ outcome.result.data.data | default([]) }}"
      - name: route_by_status
        kind: noop
        spec:
          policy:
            rules:
              - { when: "{{ iter.http_status == 404 }}", then: { do: jump, to: store_404 } }
              - else: { then: { do: jump, to: store_200 } }
      - name: store_200
        kind: postgres
        auth: pg_k8s
        command: "INSERT INTO results_ok DEFAULT VALUES"
        spec:
          policy:
            rules:
              - when: "{{ outcome.status == 'error' and outcome.pg.code in ['40001','40P01'] }}"
                then: { do: retry, attempts: 5, backoff: exponential, delay: 2.0 }
              - { when: "{{ outcome.status == 'error' }}", then: { do: fail } }
              - else: { then: { do: jump, to: paginate } }
      - name: store_404
        kind: postgres
        auth: pg_k8s
        command: "INSERT INTO results_not_found DEFAULT VALUES"
        spec:
          policy:
            rules:
              - { when: "{{ outcome.status == 'error' }}", then: { do: fail } }
              - else: { then: { do: jump, to: paginate } }
      - name: paginate
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{ iter.has_more == true }}"
                then: { do: jump, to: fetch_page, set_iter: { page: "{{ (iter.page | int) + 1 }}" } }
              - else: { then: { do: break } }
    next:
      spec: { mode: exclusive }
      arcs:
        - { step: validate_results, when: "{{ event.name == 'loop.done' }}" }
        - { step: cleanup, when: "{{ event.name == 'step.failed' }}" }
  - step: validate_results
    tool: { kind: noop }
  - step: cleanup
    tool: { kind: noop }
"""


MARCH = playbook(
    """
    - step: fetch_patients
      loop: { in: "{{ workload.patients }}", iterator: item, spec: { mode: sequential } }
      tool:
        - { name: init_page, kind: noop, set: { iter.page: 1, iter.pages_fetched: 0 } }
        - name: fetch_page
          kind: http
          input:
            url: "{{ workload.api_url }}/api/v1/patient-records/3"
            params: { patientId: "{{ iter.item }}", page: "{{ iter.page }}" }
          spec:
            policy:
              rules:
                - when: "{{ output.status == 'error' and output.http.status == 429 }}"
                  then: { do: retry, attempts: 30, delay: 1.0 }
                - else:
                    then:
                      do: continue
                      set:
                        iter.has_more: "{{ output.data.meta.page < output.data.meta.totalPages }}"
                        iter.pages_fetched: "{{ (iter.pages_fetched | int) + 1 }}"
        - name: paginate
          kind: noop
          spec:
            policy:
              rules:
                - when: "{{ iter.has_more | string | lower == 'true' }}"
                  then: { do: jump, to: fetch_page, set: { iter.page: "{{ (iter.page | int) + 1 }}" } }
          set: { ctx.pages: "{{ (ctx.pages | default(0)) + 1 }}" }
    """,
    head='workload: { api_url: "http://api", patients: [p1, p2] }',
)
