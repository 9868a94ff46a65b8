"""tools/cluster, by its command line."""

import os
import subprocess
import sys

import pytest

from harness.servers import FIRST_PORT
from pomelo_check.areas import ROOT
from pomelo_cluster import Cluster, find_free_ports

NAME = f"check-tool-{os.getpid()}"


def tool(*arguments, name=NAME, status=0, text=None):
    """Runs the tool; returns what it printed, errors included."""
    done = subprocess.run([os.path.join(ROOT, "tools", "cluster"), arguments[0], "--name", name,
                           *arguments[1:]],
                          input=text, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def port():
    yield find_free_ports(4, FIRST_PORT)
    for name in (NAME, f"{NAME}-b"):
        found = Cluster.find(name)
        if found:
            found.destroy()


def test_plain_server_life_cycle(port):
    """Up, ask, kill, start, down, up, destroy: each does its part, and may be repeated."""
    up = tool("up", "--plain", "--base-port", str(port), "--set", "fsync=off",
              "--set", "work_mem=5MB")
    assert f"postgresql://postgres@127.0.0.1:{port}/postgres" in up
    assert tool("psql", "-XAtc", "SHOW work_mem").strip() == "5MB"
    assert tool("psql", "-XAt", text="SELECT count(*) FROM pg_extension WHERE extname = 'citus'"
                ).strip() == "0"
    tool("psql", "-Xc", "CREATE TABLE kept (a int)")
    tool("kill", "server")
    assert "down" in tool("status", status=3)
    tool("start", "server")
    assert "running" in tool("status")
    tool("down")
    tool("down")
    tool("up", "--plain", "--base-port", str(port))
    assert tool("psql", "server", "-XAtc", "SELECT count(*) FROM kept").strip() == "0"
    assert "ready to accept connections" in tool("logs")
    tool("destroy")
    tool("destroy")
    assert "no cluster" in tool("status", status=1)


def test_status_shows_health(port):
    """Of the nodes that run, also if the coordinator doesn't."""
    tool("up", "--workers", "1", "--base-port", str(port), "--set", "fsync=off")
    assert "setting fsync is off" in tool("status")
    tool("kill", "coordinator")
    assert f"127.0.0.1:{port} node cannot be reached" in tool("status", status=3)
    tool("destroy")


def test_two_clusters_side_by_side(port):
    """Names and ports keep clusters apart; a taken port is named."""
    tool("up", "--plain", "--base-port", str(port), "--set", "fsync=off")
    assert f"port {port} is in use" in tool("up", "--plain", "--base-port", str(port),
                                            name=f"{NAME}-b", status=1)
    tool("up", "--plain", "--base-port", str(port + 1), "--set", "fsync=off", name=f"{NAME}-b")
    tool("psql", "-Xc", "CREATE TABLE here (a int)")
    assert "does not exist" in tool("psql", "-Xc", "SELECT * FROM here", name=f"{NAME}-b",
                                    status=1)
    listed = tool("list")
    assert f"{NAME} " in listed and f"{NAME}-b " in listed


def test_several_make_the_first_folder(tmp_path):
    """The folder of all clusters is made by whichever program comes first; none finds it half made."""
    tmp_path.chmod(0o755)
    program = "import sys; from pomelo_cluster import host; host.state_dir(); sys.exit(0)"
    for number in range(10):
        env = {**os.environ, "POMELO_STATE": str(tmp_path / f"state-{number}"),
               "PYTHONPATH": os.path.join(ROOT, "tools")}
        programs = [subprocess.Popen([sys.executable, "-c", program], env=env, stderr=subprocess.PIPE, text=True)
                    for _ in range(6)]
        errors = [each.communicate()[1] for each in programs]
        assert all(each.returncode == 0 for each in programs), errors
        assert sorted(os.listdir(tmp_path)) == [f"state-{each}" for each in range(number + 1)]


def test_server_that_does_not_start(port):
    """The server's own words are shown, and a corrected command works."""
    said = tool("up", "--plain", "--base-port", str(port), "--set", "no_such_setting=1", status=1)
    assert "no_such_setting" in said
    tool("up", "--plain", "--base-port", str(port))
    said = tool("up", "--plain", "--base-port", str(port), "--set", "no_such_setting=1", status=1)
    assert "no_such_setting" in said
    assert "running" in tool("status")


def test_only_loopback_is_trusted(port):
    """Nobody outside of this machine gets in, and the data is private."""
    tool("up", "--plain", "--base-port", str(port))
    assert tool("psql", "-XAtc", "SHOW listen_addresses").strip() == "127.0.0.1"
    addresses = tool("psql", "-XAtc", "SELECT DISTINCT address FROM pg_hba_file_rules "
                     "WHERE address IS NOT NULL").split()
    assert addresses == ["127.0.0.1"]
    assert os.stat(Cluster.load(NAME).folder).st_mode & 0o077 == 0


def test_cluster_has_its_nodes(port):
    """`up` leaves a cluster in which the coordinator knows the workers."""
    tool("up", "--base-port", str(port), "--workers", "1", "--set", "fsync=off")
    assert tool("psql", "-XAtc", "SELECT nodeport FROM pg_dist_node ORDER BY nodeport").split() \
        == [str(port), str(port + 1)]
    assert "running" in tool("status")


@pytest.mark.parametrize("arguments, message", [
    (["--workers", "-1"], "negative"),
    (["--base-port", "80"], "between 1024 and 65000"),
    (["--set", "fsync"], "key=value"),
])
def test_bad_arguments(arguments, message):
    assert message in tool("up", *arguments, status=2)
