"""Guards look into results that are too large for the log, and the log stays small."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from tests.acceptance.process import noetl

ORDERS_LARGE = [{"id": number, "note": "x" * 280} for number in range(1_000)]
PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: orders, path: orders }
workload: { url: "", limit: 100 }
workflow:
  - step: load
    tool:
      - name: get
        kind: KIND
        spec:
          result: { select: { count: "{{ output.data.orders | length }}", last: "{{ output.data.orders[-1].id }}" } }
          policy: { rules: [ { when: "{{ output.data.count < 1 }}", then: { do: fail } } ] }
        set: { ctx.by_worker: "{{ output.data.last }}" }
    next:
      arcs:
        - step: many
          when: "{{ output.data.count > workload.limit }}"
          set: { ctx.by_arc: "{{ output.data.last }}" }
        - { step: few }
  - step: many
    tool:
      kind: python
      input: { orders: "{{ load.data.orders }}", count: "{{ load.data.count }}", ctx: "{{ ctx }}" }
      code: |
        result = ["many", len(orders), count, ctx]
  - step: few
    tool: { kind: python, input: { count: "{{ load.data.count }}" }, code: "result = ['few', count]" }
"""
HTTP = 'http\n        input: { url: "{{ workload.url }}" }'
PYTHON = """\
python
        code: |
          result = {"orders": [{"id": n, "note": "x" * 280} for n in range(1000)]}"""


class Orders(BaseHTTPRequestHandler):
    """`/large` and `/small`."""

    def do_GET(self) -> None:
        orders = ORDERS_LARGE if self.path == "/large" else ORDERS_LARGE[:5]
        body = msgspec.json.encode({"orders": orders})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Orders) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def run(folder: Path, kind: str, *words: str) -> tuple[object, list[str]]:
    (folder / "orders.yaml").write_text(PLAYBOOK.replace("KIND", kind), "utf-8")
    ran = noetl("run", "orders.yaml", "-q", *words, folder=folder)
    assert ran.returncode == 0, ran.stderr
    return msgspec.json.decode(ran.stdout), noetl("events", "@latest", "-o", "jsonl", folder=folder).stdout.splitlines()


@pytest.mark.parametrize("kind", [HTTP, PYTHON], ids=["http", "python"])
def test_a_guard_reads_what_was_selected_from_300_kilobytes(tmp_path: Path, url: str, kind: str) -> None:
    result, events = run(tmp_path, kind, "--set", f"url={url}/large")
    assert result == ["many", 1_000, 1_000, {"by_worker": 999, "by_arc": 999}]
    assert sum(map(len, events)) < 20_000


def test_the_same_playbook_reads_the_same_names_of_a_small_result(tmp_path: Path, url: str) -> None:
    assert run(tmp_path, HTTP, "--set", f"url={url}/small")[0] == ["few", 5]
    many, _ = run(tmp_path, HTTP, "--set", f"url={url}/small", "--set", "limit=4")
    assert many == ["many", 5, 5, {"by_worker": 4, "by_arc": 4}]


def test_what_was_not_selected_is_refused_with_advice_that_works(tmp_path: Path) -> None:
    text = PLAYBOOK.replace("KIND", PYTHON).replace("output.data.count > workload.limit", "output.data.orders | length")
    (tmp_path / "orders.yaml").write_text(text, "utf-8")
    ran = noetl("run", "orders.yaml", "-q", "-o", "json", folder=tmp_path)
    error = msgspec.json.decode(ran.stdout)["error"]
    assert error["kind"] == "data_by_reference"
    assert "Lift what is needed with `spec.result.select`" in error["message"]


LOOPS = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: loops, path: loops }
workload: { n: 300 }
workflow:
  - step: each
    loop: { in: "{{ range(workload.n) | list }}", iterator: a, spec: { mode: parallel } }
    tool: { kind: python, input: { a: "{{ iter.a }}" }, code: "result = {'a': a, 'x': 'y' * 400}" }
    set: { ctx.all: "{{ output.data }}" }
    next: { arcs: [ { step: again } ] }
  - step: again
    loop: { in: "{{ ctx.all }}", iterator: row, spec: { mode: parallel } }
    tool: { kind: python, input: { row: "{{ iter.row }}" }, code: "result = row['a']" }
    next: { arcs: [ { step: last } ] }
  - step: last
    tool:
      kind: python
      input: { by_ctx: "{{ ctx.all }}", by_name: "{{ each.data }}", again: "{{ again.data }}" }
      code: |
        result = [len(by_ctx), by_ctx == by_name, sum(again)]
"""


@pytest.mark.parametrize("count", [100, 300])
def test_the_output_of_a_loop_is_read_alike_whether_it_is_large_or_small(count: int, tmp_path: Path) -> None:
    (tmp_path / "loops.yaml").write_text(LOOPS, "utf-8")
    ran = noetl("run", "loops.yaml", "-q", "--set", f"n={count}", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert msgspec.json.decode(ran.stdout) == [count, True, sum(range(count))]


def test_a_run_whose_result_is_that_of_a_large_loop_shows_it(tmp_path: Path) -> None:
    text = LOOPS.partition("    set: {")[0]
    (tmp_path / "loops.yaml").write_text(text, "utf-8")
    ran = noetl("run", "loops.yaml", "-q", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = msgspec.json.decode(ran.stdout)
    assert [row["a"] for row in found] == list(range(300))
    assert msgspec.json.decode(noetl("result", "@latest", folder=tmp_path).stdout) == found


def test_a_server_template_that_looks_into_a_large_loop_hears_why_it_cannot(tmp_path: Path) -> None:
    text = LOOPS.replace('"{{ output.data }}"', '"{{ output.data | length }}"')
    (tmp_path / "loops.yaml").write_text(text, "utf-8")
    ran = noetl("run", "loops.yaml", "-q", folder=tmp_path)
    assert ran.returncode == 1
    assert "the output of a large loop" in ran.stderr
    assert "`kind: resolve`" in ran.stderr
