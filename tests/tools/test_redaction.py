"""No secret is left in anything that an execution leaves behind: events, what was printed, what was stored."""

import base64
from urllib.parse import quote, quote_plus

import pytest
from aiohttp import web

from noetl.engine.output import Output
from noetl.ports import Console, ToolCall
from tests.tools.executing import execute
from tests.tools.serving import site

TOKEN = 'tök-"en/+&% s3cret'
PASSWORD = "pa55:w0rd!?"
PRINTED = "printed-in-two-pieces"
LARGE = 200_000


class Leaky:
    """Prints what it gets in two pieces, then breaks with it in its message."""

    async def run(self, call: ToolCall, console: Console) -> Output:
        text = str(call.input["secret"])
        console.write(f"it is {text[:9]}")
        console.write(f"{text[9:]}\n", stream="stdout")
        raise RuntimeError(f"cannot take {text}")

    async def close(self) -> None:
        return


async def echo(request: web.Request) -> web.StreamResponse:
    """Says all that it heard, as JSON, as text, as bytes, as an error, or at length."""
    body = await request.text()
    heard = [*request.headers.items(), str(request.url), request.path_qs, body]
    form = request.query.get("form", "json")
    if form == "json":
        return web.json_response({"heard": heard, body or "empty": 1}, headers={"X-Heard": quote(body)})
    if form == "error":
        return web.Response(status=500, text=repr(heard) + body)
    text = "\n".join([*map(str, heard), body, base64.b64encode(body.encode()).decode(), quote_plus(body)])
    return web.Response(body=text.encode() + b"x" * LARGE, content_type="application/zip" if form == "bytes" else None)


PLAYBOOK = """
keychain:
  - { name: token, kind: env, var: TOKEN }
  - { name: printed, kind: env, var: PRINTED }
  - { name: login, kind: file, path: %(file)s }
workflow:
  - step: echo
    tool:
      - name: json
        kind: http
        input: { url: "%(url)s/", method: POST, body: "{{ keychain.token }}", params: { q: "{{ keychain.token }}" } }
        set: { ctx.a: "{{ output.data }}", ctx.b: "{{ output.http.url }}" }
      - { name: login, kind: http, auth: login, input: { url: "%(url)s/" }, set: { step.seen: "{{ _prev }}" } }
      - name: bytes
        kind: http
        auth: login
        input: { url: "%(url)s/?form=bytes", method: POST, body: "{{ keychain.login.password }}" }
      - name: text
        kind: http
        input: { url: "%(url)s/?form=text&{{ keychain.token }}", method: POST, body: "{{ keychain.token }}" }
      - name: error
        kind: http
        auth: token
        input: { url: "%(url)s/{{ keychain.login.password }}?form=error", method: POST, json: ["{{ keychain.token }}"] }
        spec: { policy: { rules: [ { else: { then: { do: continue, set: { ctx.e: "{{ output.error }}" } } } } ] } }
      - name: refused
        kind: http
        input: { url: "http://joe:{{ keychain.login.password }}@127.0.0.1:1/{{ keychain.login.password }}" }
        spec: { policy: { rules: [ { else: { then: { do: continue } } } ] } }
      - name: leaks
        kind: python
        code: "result = 1"
        input: { secret: "{{ keychain.printed }}" }
"""


def forms(secret: str) -> list[str]:
    """How a secret may look in what others read."""
    raw = secret.encode()
    inner = [base64.b64encode(b"x" * before + raw).decode()[4:-4] for before in range(3)]
    encoded = [base64.b64encode(raw).decode(), *inner]
    return [secret, quote(secret), quote(secret, safe=""), quote_plus(secret), *encoded]


@pytest.fixture
def login(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("keys") / "login.json"
    place.write_text(f'{{"username": "joe", "password": "{PASSWORD}"}}')
    return str(place)


async def test_no_secret_is_left_in_what_an_execution_leaves_behind(login: str) -> None:
    routes = {"/": echo, "/{any}": echo}
    async with site(routes) as server:
        text = PLAYBOOK % {"url": server.url, "file": login}
        ended = await execute(text, {"TOKEN": TOKEN, "PRINTED": PRINTED}, {"python": Leaky()})
    assert len(server.seen) == 5
    assert ended.status == "failed"
    left = ended.everything()
    whole = [*forms(TOKEN), *forms(PASSWORD), *forms(PRINTED), base64.b64encode(f"joe:{PASSWORD}".encode()).decode()]
    assert [form for form in whole if form.encode() in left] == []
    assert b"***" in left
    assert "it is ***\n" in "".join(chunk.text for chunk in ended.printed)
    assert any(len(blob) > LARGE for blob in ended.results._blobs.values())


ADDRESS = """
keychain: [ { name: hook, kind: env, var: HOOK } ]
workflow:
  - step: tell
    tool: { kind: http, method: POST, input: { url: "{{ keychain.hook }}", params: { a: 1 } } }
"""


async def elsewhere(request: web.Request) -> web.StreamResponse:
    return web.Response(status=307, headers={"Location": f"/new?{request.query_string}"})


@pytest.mark.parametrize(
    "address",
    [
        "http://bob:hunter2pass@{host}/echo?sig=XyZsecretXyZ",
        "http://bob:hunter2pass@{host}/echo?sig=XyZsecret%2FXyZ%3D%3D#top",
        " http://{host}/x/../echo?sig=XyZsecretXyZ ",
        "http://{host}/echo?form=error&sig=XyZsecretXyZ",
        "http://{host}/moved?sig=XyZsecretXyZ",
        "http://{host}/XyZsecret1?sig=ü",
        "http://127.0.0.1:1/echo?sig=XyZsecretXyZ==#x",
        "http://127.0.0.1:99999/echo?sig=XyZsecretXyZ==#x",
        "XyZsecretXyZ-as-host/+value",
        "http://XyZsecretXyZ-as-host.invalid/+value",
    ],
)
async def test_no_part_of_an_address_that_is_a_secret_is_left_behind(address: str) -> None:
    async with site({"/moved": elsewhere, "/{any}": echo}) as server:
        hook = address.replace("{host}", server.url.removeprefix("http://"))
        ended = await execute(ADDRESS, {"HOOK": hook})
    left = ended.everything().lower()
    secrets = ("XyZsecret", "hunter2pass", base64.b64encode(b"bob:hunter2pass").decode())
    assert [text for text in secrets if text.lower().encode() in left] == []
    assert b"***" in left


async def test_a_missing_secret_is_named_before_anything_starts() -> None:
    ended = await execute("""
keychain: [ { name: token, kind: env, var: NOWHERE } ]
workflow: [ { step: a, tool: { kind: noop } } ]
""")
    assert ended.status == "failed"
    assert b'"token"' in ended.log[1]
