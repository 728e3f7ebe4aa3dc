"""Bugs on purpose: each is a small swap, and the simulator must find it. What it cannot find it does not guard."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import msgspec

from tests.simulation import plants
from tests.simulation.faults import Rates
from tests.simulation.plays import bulky, written
from tests.simulation.settings import TIGHT_SERVER, Setting, setting
from tests.simulation.world import World

Swap = Callable[[], AbstractContextManager[None]]


class Bug(msgspec.Struct, frozen=True):
    """`seeds`: within so many, from the first one on, the simulator finds it.

    `under` are the circumstances that bring it to light, where what the seeds draw by themselves seldom does.
    """

    name: str
    what: str
    seeds: int
    planted: Swap
    under: Mapping[str, object] = {}

    def setting(self, seed: int) -> Setting:
        return msgspec.structs.replace(setting(seed), **self.under)

    def seed_found(self) -> int | None:
        """The first seed that shows it."""
        for seed in range(self.seeds):
            with self.planted():
                world = World(self.setting(seed)).run()
            if world.failures:
                return seed
        return None


BUGS = (
    Bug("acknowledge_before_commit", "a server answers before its commit", 10, plants.acknowledge_before_commit),
    Bug("loser_dropped", "a conflict counts as a commit: the loser's events are gone", 60, plants.loser_dropped),
    Bug("head_unchecked", "the store appends wherever the log ends", 60, plants.head_unchecked),
    Bug("memory_before_commit", "a state that was not committed is kept", 30, plants.memory_before_commit),
    Bug(
        "lone_report_refused",
        "a report that is longer than the queue never gets in",
        60,
        plants.lone_report_refused,
        {"server": TIGHT_SERVER},
    ),
    Bug("snapshot_before_commit", "a snapshot is taken before the commit", 10, plants.snapshot_before_commit),
    Bug(
        "arc_set_lost_on_replay",
        "folding a log leaves out what arcs set",
        60,
        plants.arc_set_lost_on_replay,
        {"rates": Rates(crashes=8.0)},
    ),
    Bug("summary_disagrees", "lists show an execution as running that has failed", 20, plants.summary_disagrees),
    Bug("duplicate_report_applied", "facts that do not follow are recorded", 60, plants.duplicate_report_applied),
    Bug(
        "epoch_unchecked",
        "a report counts whatever its lease",
        60,
        plants.epoch_unchecked,
        {"rates": Rates(lost=0.15, slow=0.15)},
    ),
    Bug(
        "heartbeat_renews_nothing",
        "the store answers a heartbeat and renews nothing",
        40,
        plants.heartbeat_renews_nothing,
    ),
    Bug("heartbeat_not_sent", "a worker sends no heartbeats: tools outlive their lease", 60, plants.heartbeat_not_sent),
    Bug("end_of_lease_not_told", "a heartbeat never hears that its lease is over", 40, plants.end_of_lease_not_told),
    Bug("fence_off", "a worker that is cut off goes on", 120, plants.fence_off, plants.CUT_OFF),
    Bug(
        "lease_trusted_too_long",
        "a worker trusts its lease for longer than the store",
        60,
        plants.lease_trusted_too_long,
        {"rates": Rates(freezes=8.0)},
    ),
    Bug(
        "deadline_unchecked",
        "a worker that stood still starts a tool under an old lease",
        60,
        plants.deadline_unchecked,
        {"rates": Rates(freezes=8.0)},
    ),
    Bug("lost_lease_runs_on", "what runs under a lost lease is not stopped", 40, plants.lost_lease_runs_on),
    Bug("claim_given_to_two", "two workers are given the same work", 10, plants.claim_given_to_two),
    Bug("work_done_when_claimed", "what was handed out never comes back", 40, plants.work_done_when_claimed),
    Bug("in_flight_not_released", "a wait that is over still takes up a place", 40, plants.in_flight_not_released),
    Bug("parents_hold_workers", "what waits for a child keeps its lease", 40, plants.parents_hold_workers),
    Bug(
        "stopping_robs_holders",
        "a loop that stops takes from workers what they have",
        200,
        plants.stopping_robs_holders,
    ),
    Bug(
        "poison_for_ever",
        "work that kills its workers goes out again and again",
        60,
        plants.poison_for_ever,
        {"has_killers": True},
    ),
    Bug(
        "claim_of_older_state",
        "a claim is filled from a state older than its grant",
        60,
        plants.claim_of_older_state,
        {"servers": 3, "rates": Rates(slow=0.15)},
    ),
    Bug(
        "collection_evaluated_again",
        "each claim evaluates the collection anew",
        20,
        plants.collection_evaluated_again,
        {"play": written("a collection that its own iterations change")},
    ),
    Bug(
        "task_before_acknowledgement",
        "a task starts before the last one's end is durable",
        20,
        plants.task_before_acknowledgement,
    ),
    Bug(
        "stored_by_tools_read_as_null",
        "what tools stored is null where the data of a loop is read back",
        20,
        plants.stored_by_tools_read_as_null,
        {"play": written("a loop whose tools store their data")},
    ),
    Bug(
        "ended_hold_nothing",
        "what executions refer to that have ended is removed",
        20,
        plants.ended_hold_nothing,
        {"play": bulky(written("many iterations of several tasks", 2))},
    ),
    Bug(
        "grace_forgotten",
        "what is stored is removed before an event can refer to it",
        60,
        plants.grace_forgotten,
        {"play": bulky(written("many iterations of several tasks")), "rates": Rates(slow=0.15, lost=0.15)},
    ),
    Bug("reported_before_stored", "a report speaks of data that is not stored yet", 60, plants.reported_before_stored),
    Bug(
        "loop_done_by_step_name",
        "a loop step is done once, however often it runs",
        20,
        plants.loop_done_by_step_name,
        {"play": written("a loop step that runs three times")},
    ),
    Bug(
        "guard_error_is_no",
        "a guard that fails counts as no",
        20,
        plants.guard_error_is_no,
        {"play": written("a guard that breaks")},
    ),
    Bug("timer_revives", "a timer of a cancelled execution starts it again", 100, plants.timer_revives),
    Bug(
        "children_not_cancelled",
        "children go on when their caller has ended",
        100,
        plants.children_not_cancelled,
        {"rates": Rates(crashes=8.0)},
    ),
    Bug(
        "message_twice_two_children",
        "a message that comes twice starts two children",
        60,
        plants.message_twice_two_children,
    ),
    Bug(
        "messages_not_swept",
        "a server that misses a hint never looks for messages",
        60,
        plants.messages_not_swept,
        {"rates": Rates(refused=0.15, forgotten=0.15), "servers": 1},
    ),
    Bug(
        "timer_gone_when_read",
        "a timer is gone though its command was not carried",
        60,
        plants.timer_gone_when_read,
        {"rates": Rates(refused=0.15, forgotten=0.15), "play": written("long waits")},
    ),
    Bug("message_gone_when_read", "a message is gone though nobody has taken it", 60, plants.message_gone_when_read),
)
