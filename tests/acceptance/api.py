"""A small HTTP API on a free port, for playbooks that are run as people run them."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import msgspec

PAGES = 3
CITIES = {"rome": ["h1", "h2"], "oslo": [], "bern": ["h3"]}


class Api(ThreadingHTTPServer):
    """`asked` counts requests by path; `most` is how many were under way at once."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: Counter[str] = Counter()
        self.most = 0
        self.under_way = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[Api]:
    with Api() as api:
        thread = threading.Thread(target=api.serve_forever)
        thread.start()
        try:
            yield api
        finally:
            api.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Api

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        api = self.server
        with api.lock:
            api.asked[parts.path] += 1
            api.under_way += 1
            api.most = max(api.most, api.under_way)
        status, body = _answer(parts.path.strip("/").split("/"), query)
        data = msgspec.json.encode(body)
        with api.lock:
            api.under_way -= 1
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Tests read what was asked from the counters."""


def _answer(path: list[str], query: dict[str, str]) -> tuple[int, object]:
    match path:
        case ["status", code]:
            return int(code), {"code": int(code)}
        case ["pages", name]:
            page = int(query.get("page", "1"))
            rows = [f"{name}#{page}.{number}" for number in range(2)]
            return 200, {"data": rows, "paging": {"hasMore": page < PAGES, "page": page}}
        case ["cities"]:
            return 200, [{"name": name, "hotels": hotels} for name, hotels in CITIES.items()]
        case ["big"]:
            return 200, {"rows": ["x" * 1000] * 200, "count": 200}
        case ["item", number]:
            return 200, {"item": int(number)}
        case _:
            return 404, {"path": path}
