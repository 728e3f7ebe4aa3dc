"""The program of a worker. It is planned: this version runs playbooks in one process, by `noetl run`."""

import sys

from noetl.cli.console import USAGE


def main() -> int:
    sys.stderr.write("noetl: the worker is planned; this version runs playbooks in one process: noetl run FILE\n")
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
