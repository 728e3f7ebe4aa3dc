"""The acceptance tests of the specification through the program itself, against a real HTTP server."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from noetl.engine.size import PAYLOAD_BYTES_MAX
from tests.acceptance.api import PAGES, Api, serving
from tests.acceptance.process import noetl

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: sample, path: sample }\n"


@pytest.fixture
def api() -> Iterator[Api]:
    with serving() as found:
        yield found


def ran(folder: Path, body: str, api: Api, *words: str) -> tuple[int, object]:
    """The exit code and the result of a playbook whose workload names the API."""
    (folder / "p.yaml").write_text(HEAD + "workload: { api: '' }\n" + body, "utf-8")
    found = noetl("run", "p.yaml", "-q", "--set", f"api={api.url}", *words, folder=folder)
    return found.returncode, msgspec.json.decode(found.stdout) if found.stdout else found.stderr


def names(folder: Path, name: str) -> list[str]:
    lines = noetl("events", "@latest", "-o", "jsonl", folder=folder).stdout.splitlines()
    events = [msgspec.json.decode(line) for line in lines]
    return [event["entity_id"] for event in events if event["name"] == name]


def test_1_a_policy_of_another_shape_is_refused_before_anything_runs(tmp_path: Path, api: Api) -> None:
    body = """\
workflow:
  - step: a
    tool:
      kind: http
      input: { url: "{{ workload.api }}/item/1" }
      spec: { policy: [ { when: true, then: { do: continue } } ] }
"""
    code, told = ran(tmp_path, body, api)
    assert code == 3
    assert "policy" in str(told)
    assert not api.asked


def test_2_a_transient_500_is_retried_as_often_as_allowed_and_then_fails(tmp_path: Path, api: Api) -> None:
    body = """\
workflow:
  - step: fetch
    tool:
      name: get
      kind: http
      input: { url: "{{ workload.api }}/status/500" }
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' and output.error.retryable }}"
              then: { do: retry, attempts: 4, delay: 0.01, backoff: exponential }
            - else: { then: { do: continue } }
"""
    code, told = ran(tmp_path, body, api)
    assert code == 1
    assert "500" in str(told)
    assert api.asked["/status/500"] == 4
    assert names(tmp_path, "task.done") == [f"fetch#1.get/{number}" for number in range(1, 5)]


@pytest.mark.parametrize(("code", "stored"), [(200, "store_200"), (404, "store_404")])
def test_3_a_jump_routes_by_status(tmp_path: Path, api: Api, code: int, stored: str) -> None:
    body = f"""\
workflow:
  - step: fetch
    tool:
      - name: get
        kind: http
        input: {{ url: "{{{{ workload.api }}}}/status/{code}" }}
        spec:
          policy:
            rules:
              - when: "{{{{ output.http.status == 404 }}}}"
                then: {{ do: jump, to: store_404 }}
              - else: {{ then: {{ do: continue }} }}
      - name: store_200
        kind: python
        code: result = "store_200"
        spec: {{ policy: {{ rules: [ {{ else: {{ then: {{ do: break }} }} }} ] }} }}
      - name: store_404
        kind: python
        code: result = "store_404"
"""
    assert ran(tmp_path, body.replace("code: result", "code: result"), api, "-o", "json")[0] == 0
    assert [name.split(".")[1] for name in names(tmp_path, "task.started")] == ["get/1", f"{stored}/1"]


def test_4_pagination_jumps_back_while_there_is_more_and_ends_with_break(tmp_path: Path, api: Api) -> None:
    body = """\
workflow:
  - step: fetch
    tool:
      - name: start
        kind: noop
        set: { step.page: 1, step.rows: [] }
      - name: get
        kind: http
        input: { url: "{{ workload.api }}/pages/all", params: { page: "{{ step.page }}" } }
        set:
          step.rows: "{{ step.rows + output.data.data }}"
          step.page: "{{ step.page + 1 }}"
      - name: paginate
        kind: python
        code: result = rows
        input: { rows: "{{ step.rows }}" }
        spec:
          policy:
            rules:
              - when: "{{ get.data.paging.hasMore }}"
                then: { do: jump, to: get }
              - else: { then: { do: break } }
"""
    code, rows = ran(tmp_path, body, api)
    assert code == 0
    assert rows == [f"all#{page}.{number}" for page in range(1, PAGES + 1) for number in range(2)]
    assert api.asked["/pages/all"] == PAGES


def test_5_a_parallel_loop_keeps_to_max_in_flight_and_its_iterations_apart(tmp_path: Path, api: Api) -> None:
    body = """\
workflow:
  - step: each
    loop: { in: "{{ range(12) | list }}", iterator: n, spec: { mode: parallel, max_in_flight: 3 } }
    tool:
      - name: get
        kind: http
        input: { url: "{{ workload.api }}/item/{{ iter.n }}" }
        set: { iter.seen: "{{ output.data.item }}" }
      - name: give
        kind: python
        code: result = [n, seen]
        input: { n: "{{ iter.n }}", seen: "{{ iter.seen }}" }
"""
    code, found = ran(tmp_path, body, api)
    assert code == 0
    assert found == [[number, number] for number in range(12)]
    assert 1 <= api.most <= 3


def test_6_nested_loops_run_in_parallel_around_pages_in_order(tmp_path: Path, api: Api) -> None:
    body = """\
workflow:
  - step: cities
    tool: { kind: http, input: { url: "{{ workload.api }}/cities" } }
    set: { ctx.cities: "{{ output.data }}" }
    next: { arcs: [ { step: hotels } ] }
  - step: hotels
    loop:
      in: "{{ ctx.cities }}"
      iterator: city
      spec: { mode: parallel }
      loop: { in: "{{ iter.city.hotels }}", iterator: hotel, spec: { mode: parallel } }
    tool:
      - name: start
        kind: noop
        set: { iter.page: 1, iter.rows: [] }
      - name: get
        kind: http
        input: { url: "{{ workload.api }}/pages/{{ iter.hotel }}", params: { page: "{{ iter.page }}" } }
        set:
          iter.rows: "{{ iter.rows + output.data.data }}"
          iter.page: "{{ iter.page + 1 }}"
        spec:
          policy:
            rules:
              - when: "{{ output.data.paging.hasMore }}"
                then: { do: jump, to: get }
              - else: { then: { do: continue } }
      - name: give
        kind: python
        code: 'result = [city, rows]'
        input: { city: "{{ iter.parent.city.name }}", rows: "{{ iter.rows }}" }
"""
    code, found = ran(tmp_path, body, api)

    def rows(hotel: str) -> list[str]:
        return [f"{hotel}#{page}.{number}" for page in range(1, PAGES + 1) for number in range(2)]

    assert (code, found) == (0, [[["rome", rows("h1")], ["rome", rows("h2")]], [], [["bern", rows("h3")]]])


@pytest.mark.parametrize(("mode", "reached"), [("exclusive", {"b"}), ("inclusive", {"b", "c"})])
def test_7_exclusive_takes_one_arc_and_inclusive_all_that_are_true(
    tmp_path: Path, api: Api, mode: str, reached: set[str]
) -> None:
    body = f"""\
workflow:
  - step: a
    tool: {{ kind: http, input: {{ url: "{{{{ workload.api }}}}/item/7" }} }}
    next:
      spec: {{ mode: {mode} }}
      arcs:
        - {{ step: d, when: "{{{{ output.data.item < 5 }}}}" }}
        - {{ step: b, when: "{{{{ output.data.item > 5 }}}}" }}
        - {{ step: c, when: "{{{{ output.data.item > 6 }}}}" }}
  - {{ step: b, tool: {{ kind: noop }} }}
  - {{ step: c, tool: {{ kind: noop }} }}
  - {{ step: d, tool: {{ kind: noop }} }}
"""
    assert ran(tmp_path, body, api)[0] == 0
    assert {name.split("#")[0] for name in names(tmp_path, "step.done")} == {"a"} | reached


def test_8_events_stay_under_the_payload_limit_and_large_results_are_stored_elsewhere(tmp_path: Path, api: Api) -> None:
    body = """\
workflow:
  - step: fetch
    tool:
      - name: get
        kind: http
        input: { url: "{{ workload.api }}/big" }
      - name: keep
        kind: python
        code: 'result = dict(rows=rows, more=rows)'
        input: { rows: "{{ get.data.rows }}" }
        set: { ctx.kept_ref: "{{ output.ref }}" }
    next: { arcs: [ { step: read } ] }
  - step: read
    tool:
      - { name: load, kind: resolve, input: { ref: "{{ ctx.kept_ref }}" } }
      - { name: count, kind: python, code: "result = len(rows)", input: { rows: "{{ load.data.rows }}" } }
"""
    code, found = ran(tmp_path, body, api)
    assert (code, found) == (0, 200)
    lines = noetl("events", "@latest", "-o", "jsonl", folder=tmp_path).stdout.splitlines()
    assert max(map(len, lines)) < PAYLOAD_BYTES_MAX + 2_000
    assert any((tmp_path / ".noetl/results").rglob("*"))
