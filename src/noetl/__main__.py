"""`python -m noetl` is the program `noetl`."""

import sys

from noetl.clictl import main

sys.exit(main())
