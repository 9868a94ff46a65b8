"""Alembic's environment: the connection is the caller's."""

from alembic import context

from tickets.models import Base

with context.config.attributes["engine"].connect() as connection:
    context.configure(connection=connection, target_metadata=Base.metadata, compare_type=True, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
