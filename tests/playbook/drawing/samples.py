"""Playbooks to draw: the shapes that a drawing has to show well."""

from noetl.playbook.model import (
    Arc,
    Dialect,
    FailureMode,
    Join,
    Loop,
    LoopMode,
    Metadata,
    Playbook,
    RouteMode,
    Router,
    Step,
    Task,
)

FAILED = "{{ event.name == 'step.failed' }}"


def playbook(name: str, *steps: Step) -> Playbook:
    return Playbook(Metadata(name, f"samples/{name}"), Dialect.CANONICAL, steps[0].name if steps else "start", steps)


def tasks(*kinds: str) -> tuple[Task, ...]:
    return tuple(Task(f"task_{number}", kind) for number, kind in enumerate(kinds))


def exclusive(*arcs: Arc | str) -> Router:
    return Router(RouteMode.EXCLUSIVE, tuple(arc if isinstance(arc, Arc) else Arc(arc) for arc in arcs))


def inclusive(*arcs: Arc | str) -> Router:
    return Router(RouteMode.INCLUSIVE, tuple(arc if isinstance(arc, Arc) else Arc(arc) for arc in arcs))


def chain() -> Playbook:
    names = ("start", "fetch_orders", "clean", "enrich", "load", "report")
    kinds = (("noop",), ("http",), ("python",), ("http", "python"), ("postgres",), ("script",))
    followers = [*names[1:], None]
    return playbook(
        "chain",
        *(
            Step(name, tool=tasks(*kind), next=exclusive(follower) if follower else Router())
            for name, kind, follower in zip(names, kinds, followers, strict=True)
        ),
    )


def diamond() -> Playbook:
    return playbook(
        "diamond",
        Step("start", next=inclusive("prices", "stock", Arc("reviews", "{{ workload.with_reviews }}"))),
        Step("prices", desc="Ask the price service", tool=tasks("http"), next=exclusive("merge")),
        Step(
            "stock",
            tool=tasks("postgres"),
            loop=Loop("{{ workload.shops }}", "shop", LoopMode.PARALLEL, 20),
            next=exclusive("merge"),
        ),
        Step("reviews", tool=tasks("http", "python"), next=exclusive("merge")),
        Step("merge", join=Join.ALL, tool=tasks("duckdb"), next=exclusive("publish")),
        Step("publish", tool=tasks("http")),
    )


def cycle() -> Playbook:
    return playbook(
        "cycle",
        Step("start", tool=tasks("noop"), next=exclusive("fetch_page")),
        Step("fetch_page", desc="One page of results", tool=tasks("http"), next=exclusive("store")),
        Step(
            "store",
            tool=tasks("postgres"),
            next=exclusive(Arc("fetch_page", "{{ output.data.has_more }}"), "wait_for_index"),
        ),
        Step(
            "wait_for_index",
            tool=tasks("http"),
            next=exclusive(Arc("wait_for_index", "{{ output.data.state != 'ready' }}"), "done"),
        ),
        Step("done", tool=tasks("noop")),
    )


def errors() -> Playbook:
    return playbook(
        "errors",
        Step("extract", tool=tasks("http"), next=exclusive("transform", Arc("alert", FAILED))),
        Step("transform", tool=tasks("python"), next=exclusive("load", Arc("alert", FAILED))),
        Step(
            "load",
            tool=tasks("postgres"),
            next=exclusive(
                "finish",
                Arc("rollback", "{{ event.name == 'step.failed' and output.error.kind == 'sql' }}"),
                Arc("alert", FAILED),
            ),
        ),
        Step("rollback", tool=tasks("postgres"), next=exclusive(Arc("alert", "{{ true }}"))),
        Step("alert", desc="Tell the people on call", tool=tasks("http")),
        Step("finish", tool=tasks("noop")),
    )


def single() -> Playbook:
    return playbook("single", Step("hello", desc="Say hello to the world", tool=tasks("python")))


def empty() -> Playbook:
    return playbook("empty")


def hostile() -> Playbook:
    """Names and texts that could end a quote, a bracket, a line or an element."""
    return playbook(
        'quote " <b>&amp;</b> ]] %%{init: x}%%',
        Step(
            "end",
            desc='a "quoted" [bracket] {brace} (paren) | pipe; # hash `tick` \\n back',
            next=exclusive(
                Arc("graph", "{{ ctx['a\"]'] == '<script>alert(1)</script>' }}"),
                Arc("subgraph", "{{ ctx.x\n  and ctx.y }}"),
            ),
        ),
        Step("graph", desc="line one\nline two\ttab", tool=tasks("python")),
        Step("subgraph", desc="日本語 — ünïcode ✓ style a:#123; \x07", tool=tasks("http")),
    )


def nightly_import() -> Playbook:
    """Thirty steps: a nightly import with fan-outs, loops, retries by routing, approval and error handling."""
    return playbook("nightly_import", *_planned(), *_staged(), *_published())


def _planned() -> tuple[Step, ...]:
    """The sources are checked and the import is planned."""
    up, to = Arc, exclusive
    return (
        Step("start", desc="Read the schedule", tool=tasks("noop"), next=to("load_config")),
        Step("load_config", tool=tasks("postgres"), next=to("check_sources", up("fail_config", FAILED))),
        Step("fail_config", desc="Configuration is broken", tool=tasks("http"), next=to("notify")),
        Step(
            "check_sources",
            tool=tasks("http"),
            loop=Loop("{{ ctx.sources }}", "source", LoopMode.PARALLEL, 8),
            failure=FailureMode.BEST_EFFORT,
            next=to(up("no_sources", "{{ output.loop.succeeded == 0 }}"), "plan"),
        ),
        Step("no_sources", tool=tasks("noop"), next=to("notify")),
        Step(
            "plan",
            tool=tasks("python"),
            next=inclusive(
                up("orders", "{{ ctx.plan.orders }}"),
                up("customers", "{{ ctx.plan.customers }}"),
                up("products", "{{ ctx.plan.products }}"),
                "audit_start",
            ),
        ),
        Step("orders", desc="Page through the orders API", tool=tasks("http", "python"), next=to("orders_stage")),
        Step(
            "orders_stage",
            tool=tasks("postgres"),
            next=to(up("orders", "{{ output.data.has_more }}"), "orders_check", up("quarantine", FAILED)),
        ),
        Step(
            "orders_check", tool=tasks("duckdb"), next=to(up("quarantine", "{{ output.data.bad_rows > 100 }}"), "merge")
        ),
    )


def _staged() -> tuple[Step, ...]:
    """Customers and products are fetched and staged; what is bad is set aside."""
    up, to = Arc, exclusive
    return (
        Step("customers", tool=tasks("http"), next=to("customers_dedupe")),
        Step("customers_dedupe", tool=tasks("duckdb", "python"), next=to("customers_stage")),
        Step("customers_stage", tool=tasks("postgres"), next=to("merge", up("quarantine", FAILED))),
        Step(
            "products",
            tool=tasks("http"),
            loop=Loop("{{ ctx.shops }}", "shop", LoopMode.SEQUENTIAL),
            next=to("products_images"),
        ),
        Step(
            "products_images",
            tool=tasks("http", "script"),
            loop=Loop("{{ ctx.images }}", "image", LoopMode.PARALLEL, "{{ workload.width }}"),
            next=to("products_stage"),
        ),
        Step("products_stage", tool=tasks("postgres"), next=to("merge")),
        Step("audit_start", tool=tasks("postgres"), next=to("merge")),
        Step("quarantine", desc="Set bad rows aside", tool=tasks("postgres"), next=to("ask_owner")),
        Step("ask_owner", tool=tasks("playbook"), next=to(up("merge", "{{ output.data.approved }}"), "notify")),
    )


def _published() -> tuple[Step, ...]:
    """All is merged, judged and published."""
    up, to = Arc, exclusive
    return (
        Step("merge", join=Join.ALL, tool=tasks("postgres"), next=to("refresh_views", up("rollback", FAILED))),
        Step("rollback", tool=tasks("postgres"), next=to(up("notify", "{{ true }}"))),
        Step("refresh_views", tool=tasks("postgres"), next=to("quality")),
        Step(
            "quality",
            desc="Compare with yesterday",
            tool=tasks("duckdb"),
            next=to(
                up("publish", "{{ output.data.score >= 0.98 }}"),
                up("review", "{{ output.data.score >= 0.9 }}"),
                "rollback",
            ),
        ),
        Step("review", tool=tasks("playbook"), next=to(up("publish", "{{ output.data.approved }}"), "rollback")),
        Step("publish", next=inclusive("export_files", "warm_cache", "send_report")),
        Step("export_files", tool=tasks("duckdb", "script"), next=to("finish")),
        Step("warm_cache", tool=tasks("http"), next=to("finish")),
        Step("send_report", tool=tasks("python", "http"), next=to("finish")),
        Step("finish", join=Join.ALL, tool=tasks("postgres"), next=to("cleanup")),
        Step("cleanup", tool=tasks("script")),
        Step("notify", desc="Tell the people on call", tool=tasks("http")),
    )


SAMPLES = {
    "chain": chain(),
    "diamond": diamond(),
    "cycle": cycle(),
    "errors": errors(),
    "single": single(),
    "empty": empty(),
    "hostile": hostile(),
    "nightly_import": nightly_import(),
}
