"""Messages of other nodes speak of logical tables, whatever these are called."""

import psycopg
import pytest

from psycopg import sql


@pytest.mark.parametrize("name", ["t", "two words", 'Quote"d', "x" * 63, "a very long name of many words that goes on and on until it e"])
def test_message_names_the_table(cluster, coordinator, schema, name):
    table = sql.Identifier(schema, name)
    coordinator.execute(sql.SQL("CREATE TABLE {} (id int NOT NULL, v int NOT NULL)").format(table))
    coordinator.execute("SELECT create_distributed_table(%s, 'id')", [table.as_string(coordinator)])
    for key in range(1, 6):
        with pytest.raises(psycopg.errors.NotNullViolation) as caught:
            coordinator.execute(sql.SQL("INSERT INTO {} VALUES ({}, NULL)").format(table, sql.Literal(key)))
        assert f'of relation "{name}" violates' in caught.value.diag.message_primary
        assert caught.value.diag.table_name == name
        assert caught.value.diag.schema_name == schema


@pytest.mark.parametrize("name", ["only_one", "x" * 63, "a constraint of many words that goes on and on until it is cut o"[:63]])
def test_constraint_has_its_whole_name(coordinator, schema, name):
    coordinator.execute(sql.SQL("CREATE TABLE {}.t (id int CONSTRAINT {} UNIQUE, v int)").format(sql.Identifier(schema), sql.Identifier(name)))
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id')")
    coordinator.execute(f"INSERT INTO {schema}.t SELECT generate_series(1, 10)")
    coordinator.execute(sql.SQL("ALTER TABLE {}.t ADD CONSTRAINT {} CHECK (v > 0)").format(sql.Identifier(schema), sql.Identifier("c" + name[:-1])))
    for key in range(1, 11):
        for value, wanted in ((1, name), (-1, "c" + name[:-1])):
            with pytest.raises(psycopg.errors.IntegrityError) as caught:
                coordinator.execute(f"INSERT INTO {schema}.t VALUES ({key}, {value})")
            assert f'constraint "{wanted}"' in caught.value.diag.message_primary
            assert caught.value.diag.constraint_name == wanted


@pytest.mark.parametrize("commit", ["COMMIT", "PREPARE TRANSACTION 'shard_names'"])
def test_deferred_constraint_names_the_table(cluster, coordinator, schema, commit):
    """Also where the shard is the initiator's own; and the transaction is over."""
    coordinator.execute(f"CREATE TABLE {schema}.t (id int CONSTRAINT only_one UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id')")
    coordinator.execute(f"INSERT INTO {schema}.t SELECT generate_series(1, 10)")
    for key in range(1, 11):
        coordinator.execute(f"BEGIN; INSERT INTO {schema}.t VALUES ({key})")
        with pytest.raises(psycopg.errors.UniqueViolation) as caught:
            coordinator.execute(commit)
        assert caught.value.diag.message_primary == 'duplicate key value violates unique constraint "only_one"'
        assert caught.value.diag.constraint_name == "only_one"
        assert coordinator.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_verbose_reindex_names_the_indexes(coordinator, schema):
    coordinator.execute(f"CREATE TABLE {schema}.t (id int PRIMARY KEY)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id')")
    messages = []
    coordinator.add_notice_handler(lambda notice: messages.append(notice.message_primary))
    coordinator.execute(f"REINDEX (VERBOSE) TABLE {schema}.t")
    assert messages == ['index "t_pkey" was reindexed']
