import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "benchmarks/startup.py"


def test_what_is_missing_is_told_in_one_line() -> None:
    without_packages = [sys.executable, "-I", "-S", str(PROGRAM), "--quick"]
    ran = subprocess.run(without_packages, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"{sys.executable} has no noetl and no yaml and no jinja2; run: scripts/check quick\n"
