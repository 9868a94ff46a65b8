"""Migrations and tests of multi-tenant applications, as frameworks write them, and of some made for one server (frameworks/)."""

import os
import shutil
import subprocess
import sys

import pytest
import sqlalchemy

from harness.servers import on_every_node, value

FRAMEWORKS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "frameworks")
LEFT = "SELECT count(*) FROM pg_class WHERE relnamespace IN ('public'::regnamespace, 'citus_data'::regnamespace) AND relkind = 'r'"


def python(node, *arguments, project="messaging"):
    """Runs a module of a framework for a node."""
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "DJANGO_SETTINGS_MODULE": f"{project}.settings",
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
    assert "Ran 8 tests" in python(cluster.coordinator, "django", "test", "messaging", "--noinput")
    python(cluster.coordinator, "django", "migrate", "messaging", "zero")
    coordinator.execute("DROP TABLE django_migrations")
    assert on_every_node(cluster, LEFT) == before


def test_django_with_surrogate_keys(cluster, coordinator, connect):
    """An application that knows of no cluster is distributed without changing a constraint, and migrated on; introspection is as before."""
    def django(*arguments):
        return python(cluster.coordinator, "django", *arguments, project="shop")

    before = on_every_node(cluster, LEFT)
    django("migrate", "shop", "0001")
    models = django("inspectdb")
    assert "0002_distribute... OK" in django("migrate", "shop", "0002")
    assert value(coordinator, "SELECT count(*) FROM citus_tables WHERE table_name::text ~ '^shop_'") == 7
    assert django("inspectdb") == models
    coordinator.execute("""
        INSERT INTO shop_shop (name) VALUES ('one'), ('two');
        INSERT INTO shop_user (shop_id, email, name) SELECT id, name || '@example.org', name FROM shop_shop""")
    assert "0003_later... OK" in django("migrate")
    assert value(connect(cluster.workers[0]), "SELECT name FROM shop_user WHERE login = 'two@example.org'") == "two"
    coordinator.execute("DELETE FROM shop_user; DELETE FROM shop_shop")
    assert "Ran 10 tests" in django("test", "shop", "--noinput")
    django("migrate", "shop", "zero")
    coordinator.execute("DROP TABLE django_migrations")
    assert on_every_node(cluster, LEFT) == before


def test_sqlalchemy_with_surrogate_keys(cluster):
    before = on_every_node(cluster, LEFT)
    python(cluster.workers[0], "billing.check", f"postgresql+psycopg://postgres@127.0.0.1:{cluster.workers[0].port}/postgres")
    assert on_every_node(cluster, LEFT) == before


def test_active_record_with_surrogate_keys(cluster):
    if not shutil.which("ruby") or subprocess.run(["ruby", "-e", "require 'active_record'; require 'pg'"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs Ruby with ActiveRecord and pg")
    before = on_every_node(cluster, LEFT)
    done = subprocess.run(["ruby", "records/check.rb", str(cluster.coordinator.port)], cwd=FRAMEWORKS, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
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
