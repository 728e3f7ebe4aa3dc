"""The playbooks of the acceptance tests and the outputs their tools give. Their logs are kept in tests/histories."""

from collections.abc import Mapping

import msgspec

from noetl.engine.commands import CancelExecution, Command, RequestExecution
from noetl.engine.output import Output, Status, failed
from noetl.engine.rerun import Cut
from noetl.playbook.migrate import migrate
from tests.engine import playbooks
from tests.engine.driver import MOVES_MAX, Driver, Tool
from tests.engine.pagination import MARCH, OLDEST, V10
from tests.engine.rerunning import rerun
from tests.engine.texts import playbook


class Scenario(msgspec.Struct, frozen=True):
    """After so many `moves` the command `then` is sent. With an `origin` that is run again, cut as `cut` says."""

    text: str
    tool: Tool
    workload: Mapping[str, object] = {}
    seed: int | None = None
    playbooks: Mapping[str, str] = {}
    moves: int = MOVES_MAX
    then: Command | None = None
    origin: "Scenario | None" = None
    cut: Cut = Cut(failed_iterations=True)

    def run(self, kind: type[Driver] = Driver) -> Driver:
        request = self.origin.again(self) if self.origin is not None else None
        driver = kind(
            self.text, self.tool, self.workload, playbooks=self.playbooks, seed=self.seed, request=request
        ).run(self.moves)
        assert self.then is None or driver.send(self.then) is None
        driver.check()
        return driver

    def again(self, after: "Scenario") -> tuple[str, RequestExecution]:
        driver = self.run()
        text = Driver(after.text).program if after.text != self.text else None
        request = rerun(driver.program, "x", driver.facts, after.cut, now=driver.now, text=text)
        assert isinstance(request, RequestExecution)
        return "y", request


def answered(status: int, data: object = None) -> Output:
    """What the http tool gives for a response."""
    blocks = {"http": {"status": status, "headers": {}, "request_id": None, "url": None}}
    if status < 400:
        return Output(data=data, blocks=blocks)
    retryable = status in (408, 425, 429) or status >= 500
    error = failed("http_status", f"the server answered {status}", retryable=retryable).error
    return Output(status=Status.ERROR, data=data, error=error, blocks=blocks)


def stored(_fields: Mapping[str, object]) -> Output:
    return Output(data={"stored": True}, blocks={"pg": {"code": None, "sqlstate": None, "row_count": 1}})


def always_500(_name: str, _fields: Mapping[str, object], _given: Mapping[str, object]) -> Output:
    return answered(500)


RETRY = playbook(
    """
    - step: fetch
      tool:
        name: get
        kind: http
        input: { url: "{{ workload.url }}" }
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' and output.http.status >= 500 }}"
                then: { do: retry, attempts: 4, backoff: exponential, delay: 2.0 }
              - when: "{{ output.status == 'error' }}"
                then: { do: fail }
              - else: { then: { do: continue } }
    """,
    head='workload: { url: "http://api" }',
)

JUMP = playbook(
    """
    - step: fetch
      tool:
        - name: get
          kind: http
          input: { url: "http://api/{{ workload.id }}" }
          spec:
            policy:
              rules: [ { else: { then: { do: continue, set: { step.code: "{{ output.http.status }}" } } } } ]
        - name: route
          kind: noop
          spec:
            policy:
              rules:
                - { when: "{{ step.code == 404 }}", then: { do: jump, to: store_404 } }
                - else: { then: { do: jump, to: store_200 } }
        - name: store_200
          kind: postgres
          auth: pg
          input: { command: "INSERT INTO ok VALUES ($1)", params: [ "{{ get.data }}" ] }
          spec: { policy: { rules: [ { else: { then: { do: break } } } ] } }
        - name: store_404
          kind: postgres
          auth: pg
          input: { command: "INSERT INTO missing VALUES ($1)", params: [ "{{ workload.id }}" ] }
    """,
    head="workload: { id: 1 }\nkeychain: [ { name: pg, kind: postgres_credential } ]",
)


def found_or_not(name: str, fields: Mapping[str, object], _given: Mapping[str, object]) -> Output:
    if name == "get":
        return answered(404) if fields["url"] == "http://api/2" else answered(200, {"id": 1})
    return stored(fields)


def page_of(fields: Mapping[str, object], pages: int, size: int = 2) -> dict[str, object]:
    params = fields["params"]
    assert isinstance(params, dict)
    page = params["page"]
    assert isinstance(page, int)
    items = [f"{fields['url']}#{page}.{number}" for number in range(size)]
    return {
        "data": items,
        "paging": {"hasMore": page < pages, "page": page},
        "meta": {"page": page, "totalPages": pages},
    }


def pages(name: str, fields: Mapping[str, object], _given: Mapping[str, object]) -> Output:
    """A paged API: as many pages as the last character of the path says."""
    if name in ("fetch_page", "get_rooms"):
        return answered(200, page_of(fields, int(str(fields["url"])[-1])))
    return stored(fields)


STREAM = playbook(
    """
    - step: fetch
      tool:
        - { name: init, kind: noop, set: { step.page: 1, step.rows: [] } }
        - name: fetch_page
          kind: http
          input: { url: "http://api/3", params: { page: "{{ step.page }}" } }
          set: { step.more: "{{ output.data.paging.hasMore }}", step.rows: "{{ step.rows + output.data.data }}" }
        - name: paginate
          kind: noop
          spec:
            policy:
              rules:
                - when: "{{ step.more }}"
                  then: { do: jump, to: fetch_page, set: { step.page: "{{ step.page + 1 }}" } }
                - else: { then: { do: break } }
      set: { ctx.rows: "{{ step.rows }}" }
    """
)

PARALLEL = playbook(
    """
    - step: fetch_all
      loop: { in: "{{ workload.items }}", iterator: item, spec: { mode: parallel, max_in_flight: 3 } }
      tool:
        - { name: mark, kind: noop, set: { iter.mark: "{{ iter.item * 10 }}" } }
        - name: work
          kind: python
          code: "result = {}"
          input: { item: "{{ iter.item }}", mark: "{{ iter.mark }}" }
      next: { arcs: [ { step: done, when: "{{ event.name == 'loop.done' }}" } ] }
    - { step: done, tool: { kind: noop } }
    """,
    head="workload: { items: [0, 1, 2, 3, 4, 5, 6, 7] }",
)


def echo(_name: str, _fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
    return Output(data=given)


NESTED = playbook(
    """
    - step: rooms
      loop:
        in: "{{ workload.cities }}"
        iterator: city
        spec: { mode: parallel, max_in_flight: 2, policy: { exec: distributed } }
        loop:
          in: "{{ iter.city.hotels }}"
          iterator: hotel
          spec: { mode: parallel, max_in_flight: 2 }
      tool:
        - { name: init, kind: noop, set: { iter.page: 1, iter.rooms: [] } }
        - name: get_rooms
          kind: http
          input:
            url: "http://{{ iter.parent.city.name }}/{{ iter.hotel }}"
            params: { page: "{{ iter.page }}" }
          set: { iter.more: "{{ output.data.paging.hasMore }}", iter.rooms: "{{ iter.rooms + output.data.data }}" }
        - name: paginate
          kind: noop
          spec:
            policy:
              rules:
                - when: "{{ iter.more }}"
                  then: { do: jump, to: get_rooms, set: { iter.page: "{{ iter.page + 1 }}" } }
        - name: result
          kind: python
          code: "result = {}"
          input: { city: "{{ iter.parent.city.name }}", hotel: "{{ iter.hotel }}", rooms: "{{ iter.rooms }}" }
    """,
    head="""
    workload:
      cities: [ { name: rome, hotels: [h1, h2] }, { name: oslo, hotels: [] }, { name: bern, hotels: [h3] } ]
    """,
)


def rooms(name: str, fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
    return pages(name, fields, given) if name == "get_rooms" else echo(name, fields, given)


def routed(mode: str) -> str:
    return playbook(
        f"""
        - step: start
          tool: {{ name: measure, kind: python, code: "result = 7" }}
          next:
            spec: {{ mode: {mode} }}
            arcs:
              - {{ step: small, when: "{{{{ output.data < 5 }}}}" }}
              - {{ step: odd, when: "{{{{ output.data % 2 == 1 }}}}", set: {{ ctx.odd: "{{{{ output.data }}}}" }} }}
              - {{ step: large, when: "{{{{ output.data > 5 }}}}", set: {{ ctx.large: "{{{{ output.data }}}}" }} }}
        - {{ step: small, tool: {{ kind: noop }} }}
        - {{ step: odd, tool: {{ kind: noop }} }}
        - {{ step: large, tool: {{ kind: noop }} }}
        """
    )


def seven(_name: str, _fields: Mapping[str, object], _given: Mapping[str, object]) -> Output:
    return Output(data=7)


REFERENCES = playbook(
    """
    - step: load
      tool:
        - name: get
          kind: python
          code: "result = {}"
          set: { ctx.rows_ref: "{{ output.ref }}", ctx.rows: "{{ output.data }}" }
        - { name: use, kind: python, code: "result = len(rows)", input: { rows: "{{ _prev }}" } }
      next: { arcs: [ { step: again } ] }
    - step: again
      tool: { name: count, kind: python, code: "result = len(rows)", input: { rows: "{{ ctx.rows }}" } }
    """
)


def large(name: str, _fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
    if name == "get":
        return Output(data=[f"row {number:09}" for number in range(20_000)])
    rows = given["rows"]
    return Output(data=len(rows) if isinstance(rows, list) else None)


class Unsteady:
    """A paged API that is busy now and then, and does not know one path; its database meets with one deadlock."""

    def __init__(self) -> None:
        self.asked = 0
        self.deadlocks = 1

    def __call__(self, name: str, fields: Mapping[str, object], _given: Mapping[str, object]) -> Output:
        if name == "store_200" and self.deadlocks:
            self.deadlocks -= 1
            error = failed("sql", "deadlock detected", retryable=True).error
            blocks = {"pg": {"code": "40P01", "sqlstate": "40P01", "row_count": None}}
            return Output(status=Status.ERROR, error=error, blocks=blocks)
        if name != "fetch_page":
            return stored(fields)
        self.asked += 1
        if str(fields["url"]).endswith("missing"):
            return answered(404, {})
        return answered(503) if self.asked % 3 == 2 else answered(200, page_of(fields, int(str(fields["url"])[-1])))


class Limited:
    """A paged API that asks for patience every fourth time."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, _name: str, fields: Mapping[str, object], _given: Mapping[str, object]) -> Output:
        self.asked += 1
        return answered(429) if self.asked % 4 == 0 else answered(200, page_of(fields, 3))


class Unlucky:
    """Every third call fails."""

    def __init__(self) -> None:
        self.called = 0

    def __call__(self, name: str, fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
        self.called += 1
        if self.called % 3 == 0:
            return failed("connect", "no route", retryable=True)
        params = fields.get("params")
        return Output(data=params) if isinstance(params, dict) else Output(data={"of": name, **given})


def broken(name: str, fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
    """One call fails, and one is asked to come again in an hour."""
    if given["name"] == "n1-4":
        return failed("busy", "later", retryable=True)
    return failed("exception", "no") if given["name"] == "n1-3" else echo(name, fields, given)


def scenarios() -> dict[str, Scenario]:
    """By the name under which the log is kept. Tools may remember, so every run asks for new ones."""
    return {
        "retry_until_spent": Scenario(RETRY, always_500),
        "jump_200": Scenario(JUMP, found_or_not),
        "jump_404": Scenario(JUMP, found_or_not, {"id": 2}),
        "streaming_pagination": Scenario(STREAM, pages),
        "parallel_loop": Scenario(PARALLEL, echo, seed=1),
        "nested_loops": Scenario(NESTED, rooms, seed=2),
        "exclusive": Scenario(routed("exclusive"), seven),
        "inclusive": Scenario(routed("inclusive"), seven),
        "references": Scenario(REFERENCES, large),
        "pagination_oldest": Scenario(migrate(OLDEST).text, pages),
        "pagination_v10": Scenario(V10, Unsteady(), seed=3),
        "pagination_march": Scenario(MARCH, Limited()),
        "waits": Scenario(playbooks.PAGES, Unlucky()),
        "best_effort": Scenario(playbooks.NESTED, Unlucky(), seed=4),
        "blocks": Scenario(playbooks.BLOCKS, echo),
        "child": Scenario(playbooks.PARENT, echo, playbooks={"other": playbooks.CHILD}),
        "join": Scenario(playbooks.FAN, echo, seed=5),
        "doors": Scenario(playbooks.DOORS, echo),
        "stopped": Scenario(playbooks.REDUCED, broken, seed=6),
        "rerun": Scenario(playbooks.REDUCED, echo, seed=7, origin=Scenario(playbooks.REDUCED, broken, seed=6)),
        "rerun_changed": Scenario(
            playbooks.NESTED.replace("code: x", "code: y"),
            echo,
            seed=9,
            origin=Scenario(playbooks.NESTED, echo, seed=8, moves=5, then=CancelExecution("enough")),
            cut=Cut(),
        ),
        "cancelled": Scenario(
            playbooks.PARENT, echo, playbooks={"other": playbooks.CHILD}, moves=2, then=CancelExecution("enough")
        ),
        "called_again": Scenario(
            playbooks.PARENT,
            echo,
            playbooks={"other": playbooks.CHILD},
            origin=Scenario(
                playbooks.PARENT, echo, playbooks={"other": playbooks.CHILD}, moves=2, then=CancelExecution("enough")
            ),
            cut=Cut(),
        ),
    }
