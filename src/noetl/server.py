"""The program of the server. It is planned: this version checks playbooks and does not run them."""

import sys

from noetl.cli.console import USAGE


def main() -> int:
    sys.stderr.write("noetl: the server is planned; this version checks playbooks and does not run them yet\n")
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
