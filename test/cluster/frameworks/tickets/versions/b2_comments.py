"""Changes of distributed tables, and a table whose key is added before it is distributed."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "b2"
down_revision = "a1"


def upgrade():
    op.add_column("ticket", sa.Column("data", JSONB, nullable=False, server_default="{}"))
    op.add_column("ticket", sa.Column("version", sa.Integer, nullable=False, server_default="1"))
    op.alter_column("ticket", "subject", new_column_name="title")
    op.alter_column("state", "name", type_=sa.String(40))
    op.create_check_constraint("has_title", "ticket", "title <> ''")
    op.create_table("comment",
                    sa.Column("project_id", sa.BigInteger, primary_key=True),
                    sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
                    sa.Column("ticket_id", sa.BigInteger, nullable=False),
                    sa.Column("text", sa.String, nullable=False),
                    sa.Column("written", sa.DateTime, nullable=False, server_default=sa.func.now()))
    op.create_foreign_key("comment_of_ticket", "comment", "ticket", ["project_id", "ticket_id"], ["project_id", "id"],
                          ondelete="CASCADE")
    op.execute("SELECT create_distributed_table('comment', 'project_id')")
    with op.get_context().autocommit_block():
        op.execute("ALTER TYPE priority ADD VALUE 'urgent'")
        op.create_index("ticket_data", "ticket", ["data"], postgresql_using="gin", postgresql_concurrently=True)


def downgrade():
    op.drop_table("comment")
    op.drop_constraint("has_title", "ticket")
    op.drop_index("ticket_data", "ticket")
    op.alter_column("ticket", "title", new_column_name="subject")
    op.drop_column("ticket", "version")
    op.drop_column("ticket", "data")
