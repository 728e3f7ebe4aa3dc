"""The API that the examples call: made-up data, on this machine, with nothing but Python's own library.

`python3 examples/api.py` answers on port 8765, where the examples look for it. Another port can be given; 0 takes
any that is free. Some answers fail on purpose, so that the examples have something to show.
"""

import json
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PORT = 8765

PRODUCTS = [{"id": number, "name": f"product {number}"} for number in range(1, 251)]
# Of quito nothing is known.
SALES = {
    "oslo": {"revenue": 1200, "best_day": 240},
    "lima": {"revenue": 800, "best_day": 310},
    "cairo": {"revenue": 1500, "best_day": 190},
    "tokyo": {"revenue": 2100, "best_day": 280},
}
HOTELS = {"Lisbon": ["Alfama House", "Baixa Inn"]}
FLIGHTS = {"Lisbon": ["NO 101"]}
ORDERS = {"4711": {"id": 4711, "address": "1 Harbour Street, Bergen"}}
ITEMS = {
    "17": [{"name": "lamp", "price": 40, "count": 2}, {"name": "bulb", "price": 5, "count": 4}],
    "42": [{"name": "chair", "price": 75, "count": 6}],
}
PEOPLE = {
    "teams": [{"id": 1, "name": "data"}, {"id": 2, "name": "web"}],
    "users": [{"name": "Ann", "team": 1}, {"name": "Bob", "team": 2}, {"name": "Cleo", "team": 1}],
}


class Api(ThreadingHTTPServer):
    """`asked` counts requests by path, for the answers that change from one to the next."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.asked: Counter[str] = Counter()
        self.posted: dict[str, dict[str, object]] = {}
        self.lock = threading.Lock()

    def count(self, path: str) -> int:
        with self.lock:
            self.asked[path] += 1
            return self.asked[path]

    def keep(self, body: dict[str, object]) -> str:
        with self.lock:
            name = str(len(self.posted) + 1)
            self.posted[name] = body
            return name


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Api

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        self._send(*got(self.server, address.path.strip("/").split("/"), query))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._send(*posted(self.server, self.path.strip("/"), body))

    def _send(self, status: int, answer: object) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(data)


def got(api: Api, path: list[str], query: dict[str, str]) -> tuple[int, object]:
    """The status and the answer to a GET."""
    match path:
        case ["rates"]:
            return rates(api.count("rates"))
        case ["products"]:
            page, size = int(query["page"]), int(query["size"])
            items = PRODUCTS[(page - 1) * size : page * size]
            return 200, {"items": items, "has_more": page * size < len(PRODUCTS)}
        case ["shops", name, "sales"]:
            return found(SALES.get(name))
        case ["orders", "0"]:
            return 400, {"message": "0 is not the number of an order"}
        case ["orders", number]:
            return found(ORDERS.get(number))
        case ["customers", number, "items"]:
            return found(ITEMS.get(number))
        case ["hotels"]:
            return 200, HOTELS.get(query["city"], [])
        case ["flights"]:
            return 200, FLIGHTS.get(query["to"], [])
        case ["users" | "teams" as what]:
            return 200, PEOPLE[what]
        case ["reports", name, "parts", part]:
            return 200, {"report": name, "part": int(part)}
        case ["reports" | "approvals" as what, name] if name in api.posted:
            return waited_for(what, api.posted[name], api.count(f"{what}/{name}"))
        case _:
            return found(None)


def posted(api: Api, path: str, body: dict[str, object]) -> tuple[int, object]:
    """The status and the answer to a POST."""
    match path:
        case "reports" | "approvals":
            return 201, {"id": api.keep(body)}
        case "payments":
            return 201, {"paid": body["amount"]}
        case "alerts":
            return 201, {"sent": body["text"]}
        case _:
            return found(None)


def found(what: object) -> tuple[int, object]:
    return (200, what) if what is not None else (404, {"message": "there is nothing here"})


def rates(time: int) -> tuple[int, object]:
    """Two failures before each answer: out of order, then too busy."""
    if time % 3 == 1:
        return 503, {"message": "out of order"}
    if time % 3 == 2:
        return 429, {"message": "too busy, come back in a second"}
    return 200, {"rates": {"USD": 1.0832}}


def waited_for(what: str, body: dict[str, object], time: int) -> tuple[int, object]:
    """A report is ready, and a question answered, when they are asked for the third time."""
    if time < 3:
        return 200, {"state": "open", "parts": None}
    if what == "approvals":
        return 200, {"state": "granted"}
    return 200, {"state": "ready", "parts": int(str(body["days"])) // 10}


def main() -> None:
    with opened(int(sys.argv[1]) if len(sys.argv) > 1 else PORT) as api:
        print(f"http://127.0.0.1:{api.server_port}", flush=True)
        try:
            api.serve_forever()
        except KeyboardInterrupt:
            print("stopped")


def opened(port: int) -> Api:
    try:
        return Api(port)
    except OSError as error:
        other = f"python3 examples/api.py {port + 1}"
        sys.exit(
            f"port {port} cannot be used: {error.strerror}\n"
            f"  = take another: {other}, and --set url=http://127.0.0.1:{port + 1} behind the commands"
        )


if __name__ == "__main__":
    main()
