"""Later changes of distributed tables: unique columns, references, indexes, and constraints of expressions and with conditions."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Lower


def fill(apps, schema_editor):
    apps.get_model("shop", "User").objects.filter(login=None).update(login=Lower("email"))


class Migration(migrations.Migration):
    dependencies = [("shop", "0002_distribute")]
    operations = [
        migrations.AddField("user", "login", models.CharField(max_length=40, null=True, unique=True)),
        migrations.AddField("user", "referrer", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL,
                                                                  related_name="referred", to="shop.user")),
        migrations.AddField("payment", "cancelled", models.BooleanField(default=False)),
        migrations.AlterUniqueTogether("order", {("shop", "number")}),
        migrations.AddIndex("order", models.Index(fields=["placed"], name="order_placed")),
        migrations.AddConstraint("user", models.UniqueConstraint(Lower("name"), "shop", name="user_name_of_shop")),
        migrations.AddConstraint("payment", models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="payment_is_positive")),
        migrations.AddConstraint("payment", models.UniqueConstraint(condition=models.Q(("cancelled", False)), fields=("order",),
                                                                    name="one_payment_of_order")),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
