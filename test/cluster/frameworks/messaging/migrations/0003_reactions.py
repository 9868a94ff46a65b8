"""Later changes: of tables that are distributed by now, and a new one, which references them before it is distributed."""

import django.db.models.deletion
from django.db import migrations, models
from django_multitenant.fields import TenantForeignKey
from django_multitenant.mixins import TenantModelMixin


def fill(apps, schema_editor):
    apps.get_model("messaging", "Channel").objects.filter(topic=None).update(topic="")


class Migration(migrations.Migration):
    dependencies = [("messaging", "0002_distribute")]
    operations = [
        migrations.AddField("message", "edited", models.DateTimeField(null=True)),
        migrations.AddField("user", "active", models.BooleanField(default=True)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField("channel", "topic", models.CharField(max_length=500, default="")),
        migrations.RenameField("channel", "title", "name"),
        migrations.AddIndex("message", models.Index(fields=["organization", "channel", "sent"], name="by_channel")),
        migrations.AddConstraint("message", models.CheckConstraint(condition=models.Q(("likes__gte", 0)), name="not_disliked")),
        migrations.AlterUniqueTogether("channel", {("id", "organization"), ("organization", "name")}),
        migrations.CreateModel("Reaction", [
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("emoji", models.CharField(max_length=8)),
            ("organization", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="messaging.organization")),
            ("message", TenantForeignKey(on_delete=django.db.models.deletion.CASCADE, to="messaging.message")),
        ], options={"unique_together": {("id", "organization")}}, bases=(TenantModelMixin, models.Model)),
    ]
