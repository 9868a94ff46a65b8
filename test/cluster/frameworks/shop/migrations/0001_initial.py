"""The tables, as makemigrations has it: foreign keys come after all tables."""

import django.db.models.deletion
from django.db import migrations, models


def key():
    return ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))


def reference(name, to=None, on_delete=django.db.models.deletion.CASCADE):
    return (name, models.ForeignKey(on_delete=on_delete, to=f"shop.{to or name}"))


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel("Shop", [key(), ("name", models.CharField(max_length=100, unique=True))]),
        migrations.CreateModel("User", [
            key(), ("email", models.EmailField(max_length=254, unique=True)), ("name", models.CharField(max_length=100)), reference("shop"),
        ]),
        migrations.CreateModel("Tag", [key(), ("name", models.CharField(max_length=40)), reference("shop")],
                               options={"unique_together": {("shop", "name")}}),
        migrations.CreateModel("Profile", [
            key(), ("text", models.TextField(default="")), reference("shop"),
            ("user", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, to="shop.user")),
        ]),
        migrations.CreateModel("Order", [
            key(), ("number", models.CharField(max_length=20)), ("placed", models.DateTimeField()), reference("shop"), reference("user"),
            ("tags", models.ManyToManyField(to="shop.tag")),
        ], options={"unique_together": {("shop", "number")}}),
        migrations.CreateModel("Payment", [
            key(), ("reference", models.UUIDField(unique=True)), ("amount", models.DecimalField(decimal_places=2, max_digits=10)),
            reference("shop"), reference("order", on_delete=django.db.models.deletion.PROTECT),
        ]),
    ]
