"""Primary keys get the tenant's column, and the tables are distributed."""

from django.db import migrations
from django_multitenant.db.migrations import Distribute

OF_ORGANIZATION = ["user", "channel", "message"]


def primary_key(model):
    """What is distributed keeps the key on the way back: its table is dropped next."""
    table = f"messaging_{model}"
    return migrations.RunSQL(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey, ADD PRIMARY KEY (organization_id, id)",
                             migrations.RunSQL.noop)


class Migration(migrations.Migration):
    dependencies = [("messaging", "0001_tables")]
    operations = [
        *(primary_key(model) for model in OF_ORGANIZATION),
        Distribute("Country", reference=True, reverse_ignore=True),
        Distribute("Organization", reverse_ignore=True),
        *(Distribute(model.capitalize(), reverse_ignore=True) for model in OF_ORGANIZATION),
    ]
