"""The first tables, distributed as they are made."""

import sqlalchemy as sa
from alembic import op

revision = "a1"
down_revision = None


def upgrade():
    op.create_table("state", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(20), unique=True, nullable=False))
    op.execute("SELECT create_reference_table('state')")
    op.create_table("project", sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
                    sa.Column("name", sa.String, nullable=False))
    op.execute("SELECT create_distributed_table('project', 'id')")
    op.create_table("ticket",
                    sa.Column("project_id", sa.BigInteger, sa.ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
                    sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
                    sa.Column("state_id", sa.Integer, sa.ForeignKey("state.id"), nullable=False),
                    sa.Column("subject", sa.String(200), nullable=False),
                    sa.Column("priority", sa.Enum("low", "high", name="priority"), nullable=False, server_default="low"))
    op.execute("SELECT create_distributed_table('ticket', 'project_id')")
    op.bulk_insert(sa.table("state", sa.column("id"), sa.column("name")),
                   [{"id": 1, "name": "open"}, {"id": 2, "name": "closed"}])


def downgrade():
    for table in ["ticket", "project", "state"]:
        op.drop_table(table)
    op.execute("DROP TYPE priority")
