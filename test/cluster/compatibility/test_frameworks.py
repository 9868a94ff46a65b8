"""Migrations and tests of multi-tenant applications, as frameworks write them (frameworks/)."""

import os
import subprocess
import sys

import sqlalchemy

from harness.servers import on_every_node, value

FRAMEWORKS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "frameworks")
LEFT = "SELECT count(*) FROM pg_class WHERE relnamespace IN ('public'::regnamespace, 'citus_data'::regnamespace) AND relkind = 'r'"


def python(node, *arguments):
    """Runs a module of a framework for a node."""
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "DJANGO_SETTINGS_MODULE": "messaging.settings",
                   "POMELO_HOST": "127.0.0.1", "POMELO_PORT": str(node.port), "POMELO_USER": "postgres",
                   "POMELO_DBNAME": "postgres"}
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=FRAMEWORKS, env=os.environ | environment, timeout=300,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_django_multitenant(cluster, coordinator):
    before = on_every_node(cluster, LEFT)
    assert "0004_distribute_reactions... OK" in python(cluster.coordinator, "django", "migrate")
    assert value(coordinator, "SELECT count(*) FROM citus_tables WHERE table_name::text ~ '^messaging|^country$'") == 6
    assert "Ran 8 tests" in python(cluster.coordinator, "django", "test", "--noinput")
    python(cluster.coordinator, "django", "migrate", "messaging", "zero")
    coordinator.execute("DROP TABLE django_migrations")
    assert on_every_node(cluster, LEFT) == before


def test_sqlalchemy_and_alembic(cluster, connect):
    """From a worker."""
    worker = cluster.workers[0]
    before = on_every_node(cluster, LEFT)
    python(worker, "tickets.check", f"postgresql+psycopg://postgres@127.0.0.1:{worker.port}/postgres")
    connect(worker).execute("DROP TABLE alembic_version")
    assert on_every_node(cluster, LEFT) == before


def test_reflection_finds_only_what_users_made(cluster, schema, coordinator):
    """What reads the catalogs for tables, views and enums finds none of the extension; its names are found from any schema."""
    coordinator.execute(f"CREATE TYPE {schema}.mood AS ENUM ('well', 'so so'); CREATE TABLE {schema}.t (id int, m {schema}.mood)")
    coordinator.execute("SELECT create_distributed_table(%s, 'id')", [f"{schema}.t"])
    for node in cluster.nodes:
        engine = sqlalchemy.create_engine(f"postgresql+psycopg://postgres@127.0.0.1:{node.port}/postgres")
        found = sqlalchemy.inspect(engine)
        assert [name for name in [*found.get_view_names(), *found.get_table_names()] if name.startswith(("citus", "pg_dist"))] == []
        assert [enum["schema"] for enum in found.get_enums(schema="*") if enum["schema"] in ("pg_catalog", "citus", "citus_internal")] == []
        assert [(enum["name"], enum["labels"]) for enum in found.get_enums(schema=schema)] == [("mood", ["well", "so so"])]
        assert found.get_table_names(schema=schema) == ["t"]
        engine.dispose()
    with coordinator.transaction():
        coordinator.execute("SET LOCAL search_path = nothing")
        for query in ("TABLE citus_tables", "TABLE citus_schemas", "SELECT 'primary'::noderole, 'failed'::citus_job_status, 'done'::citus_task_status"):
            coordinator.execute(query)
