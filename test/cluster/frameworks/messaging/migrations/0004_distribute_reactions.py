"""The new table is distributed; another model's table is renamed."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django_multitenant.db.migrations import Distribute

PRIMARY_KEY = """
    ALTER TABLE messaging_reaction DROP CONSTRAINT messaging_reaction_pkey, ADD PRIMARY KEY (organization_id, id)
"""


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("messaging", "0003_reactions")]
    operations = [
        migrations.RunSQL(PRIMARY_KEY, migrations.RunSQL.noop),
        Distribute("Reaction", reverse_ignore=True),
        AddIndexConcurrently("reaction", models.Index(fields=["organization", "message"], name="by_message")),
        migrations.AlterModelTable("country", "country"),
    ]
