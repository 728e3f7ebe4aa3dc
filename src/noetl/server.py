"""The program of the server. It is planned: this version runs playbooks in one process, by `noetl run`."""

import sys

from noetl.cli.console import USAGE


def main() -> int:
    sys.stderr.write("noetl: the server is planned; this version runs playbooks in one process: noetl run FILE\n")
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
