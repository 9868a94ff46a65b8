"""How runners tell of failures, and what tools/check makes of it."""

import subprocess
import sys

import pytest

from pomelo_check.areas import ROOT
from pomelo_check.debian_source import source_lists
from pomelo_check.failures import Failure, Reader, print_failures, print_summary


def told(count):
    return [Failure(f"case{n}", f"test/area/run case{n}", [f"line {i}" for i in range(30)])
            for n in range(count)]


def test_failures_are_read_as_they_are_printed(capsys):
    print_failures(told(3))
    reader = Reader()
    for line in capsys.readouterr().out.splitlines():
        reader.read(line + "\n")
    assert [(f.name, f.alone, f.lines) for f in reader.failures] == \
        [(f.name, f.alone, f.lines[:10]) for f in told(3)]


def test_what_is_counted_is_told():
    reader = Reader()
    for line in ("counted: 3 statements in 7 modes\n", "21 passed, 0 failed\n"):
        reader.read(line)
    assert reader.counted == "3 statements in 7 modes"


def test_summary_fits_where_only_the_end_is_shown(capsys):
    """One failure has ten lines; several share the last 20; the others are named before."""
    for count, expected in ((0, 0), (1, 11), (2, 20), (5, 20), (6, 18), (70, 18 + 50 + 1)):
        print_summary(told(count))
        assert len(capsys.readouterr().out.splitlines()) == expected, count


@pytest.mark.parametrize("status", [0, 3])
def test_runner_that_breaks_off(tmp_path, status):
    """Its last lines are shown, and the status is 1, whatever its own is."""
    runner = tmp_path / "run"
    runner.write_text(f"#!/bin/sh\nseq 20\necho what it said last\nexit {status}\n")
    runner.chmod(0o755)
    code = ("import pomelo_check.areas as areas\n"
            f"areas.runner = lambda area: {str(runner)!r}\n"
            "import sys\nsys.argv = ['check', 'area']\nsys.exit(areas.main())\n")
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": f"{ROOT}/tools"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert f"failed: area ended with status {status} before it was done    alone: test/area/run" in lines
    assert lines[-3:] == ["  | 20", "  | what it said last", "0 passed, 1 failed, 0 skipped"]


def test_lists_of_source_packages():
    """A machine may have lists of source packages already."""
    assert source_lists("deb http://a b main\ndeb-src [x=y] http://a b main\n# deb\n") == \
        "deb-src http://a b main\ndeb-src [x=y] http://a b main\n# deb\n"
    assert source_lists("Types: deb\nURIs: http://a\n") == "Types: deb-src\nURIs: http://a\n"
