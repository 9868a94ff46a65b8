"""The tables are distributed by their shop, and tags of orders by the order; no constraint changes."""

from django.db import migrations

OF_SHOP = ["user", "tag", "profile", "order", "payment"]


def distribute(table, column, *options):
    return migrations.RunSQL(f"SELECT create_distributed_table({', '.join([repr(table), repr(column), *options])})", migrations.RunSQL.noop)


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        distribute("shop_shop", "id"),
        *(distribute(f"shop_{table}", "shop_id", "colocate_with => 'shop_shop'") for table in OF_SHOP),
        distribute("shop_order_tags", "order_id"),
    ]
