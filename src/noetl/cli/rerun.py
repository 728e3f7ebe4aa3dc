"""`noetl rerun`: an execution again, without what had succeeded."""

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command, Option, Takes, read_arguments
from noetl.cli.console import OK, Console
from noetl.cli.executing import EXECUTION, Printed, carry_out, output_option
from noetl.cli.run import QUIET, SLOTS, check_slots

COMMAND = Command(
    "rerun",
    "Runs an execution again as a new one, with the playbook as it was then. What had succeeded is kept and not run.",
    EXECUTION,
    (
        Option("from", "run this step and what follows from it", takes=Takes.TEXT, value="STEP"),
        Option(
            "failed-iterations",
            "run the iterations that failed of loops which the run got over: in best_effort, or by an arc",
        ),
        Option("playbook", "run this text of the playbook, not that of then", takes=Takes.FILE, value="FILE"),
        Option("set", "another value of the workload: KEY=VALUE", takes=Takes.TEXT, many=True, value="KEY=VALUE"),
        SLOTS,
        output_option("text", "json", what="how to print the result"),
        QUIET,
    ),
    (
        "noetl rerun @latest",
        "noetl rerun @latest --playbook daily.yaml",
        "noetl rerun 0193f2c4 --from load",
        "noetl rerun 0193f2c4 --failed-iterations",
    ),
)


class Arguments(Printed, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str = ""
    failed_iterations: bool = False
    playbook: str = ""
    set: tuple[str, ...] = ()
    slots: str = SLOTS.default
    quiet: bool = False


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    check_slots("rerun", arguments.slots)
    return carry_out(arguments, console, import_module("noetl.cli.running.local").rerun_local)
