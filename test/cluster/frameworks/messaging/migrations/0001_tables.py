"""The tables, as makemigrations has it: foreign keys come after all tables."""

import django.db.models.deletion
from django.db import migrations, models
from django_multitenant.fields import TenantForeignKey
from django_multitenant.mixins import TenantModelMixin

TENANT = {"options": {"abstract": False, "unique_together": {("id", "organization")}},
          "bases": (TenantModelMixin, models.Model)}


def key():
    return ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))


def organization():
    return ("organization", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="messaging.organization"))


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel("Country", [key(), ("name", models.CharField(max_length=100, unique=True))]),
        migrations.CreateModel("Organization", [
            key(), ("name", models.CharField(max_length=100)),
            ("country", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="messaging.country")),
        ], bases=(TenantModelMixin, models.Model)),
        migrations.CreateModel("Channel", [
            key(), ("title", models.CharField(max_length=100)), ("topic", models.TextField(null=True)), organization(),
        ], **TENANT),
        migrations.CreateModel("User", [
            key(), ("name", models.CharField(max_length=100)), ("settings", models.JSONField(default=dict)), organization(),
        ], **TENANT),
        migrations.CreateModel("Message", [
            key(), ("text", models.TextField()), ("sent", models.DateTimeField(auto_now_add=True)),
            ("likes", models.IntegerField(default=0)),
            ("channel", TenantForeignKey(on_delete=django.db.models.deletion.CASCADE, to="messaging.channel")),
            organization(),
            ("author", TenantForeignKey(on_delete=django.db.models.deletion.CASCADE, to="messaging.user")),
        ], **TENANT),
    ]
