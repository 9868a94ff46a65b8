"""What the application and its administrators do, by Django's ORM; no query has to name the shop."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from io import StringIO

from django.core.management import call_command
from django.core.paginator import Paginator
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Exists, F, Max, OuterRef, Prefetch, ProtectedError, Q, Sum
from django.test import TestCase, TransactionTestCase

from shop.models import Order, Payment, Profile, Shop, Tag, User

NEW_YEAR = datetime(2026, 1, 1, tzinfo=timezone.utc)


def fill(shops=5):
    """Shop n has n users, each with an order of two tags, which is paid unless it is the user's first."""
    for n in range(1, shops + 1):
        shop = Shop.objects.create(name=f"shop {n}")
        tags = Tag.objects.bulk_create([Tag(shop=shop, name=name) for name in ("new", "old")])
        users = User.objects.bulk_create([User(shop=shop, email=f"user{i}@shop{n}.org", name=f"User {i}") for i in range(n)])
        Profile.objects.bulk_create([Profile(shop=shop, user=user, text=user.name) for user in users])
        orders = Order.objects.bulk_create([Order(shop=shop, user=user, number=f"A-{i}", placed=NEW_YEAR + timedelta(days=40 * i))
                                            for i, user in enumerate(users)])
        for order in orders:
            order.tags.set(tags)
        Payment.objects.bulk_create([Payment(shop=shop, order=order, reference=uuid.uuid4(), amount=10 * n) for order in orders[1:]])


class Application(TestCase):
    @classmethod
    def setUpTestData(cls):
        fill()
        cls.user = User.objects.get(email="user3@shop5.org")

    def refused(self, make):
        with self.assertRaises(IntegrityError), transaction.atomic():
            make()
            connection.check_constraints()

    def test_found_by_key(self):
        self.assertEqual(User.objects.get(pk=self.user.pk).email, "user3@shop5.org")
        order = Order.objects.select_related("shop", "user__profile").get(user__email="user2@shop4.org")
        self.assertEqual((order.shop.name, order.user.profile.text), ("shop 4", "User 2"))
        self.assertEqual(User.objects.in_bulk(["user0@shop1.org", "user1@shop2.org", "none"], field_name="email").keys(),
                         {"user0@shop1.org", "user1@shop2.org"})
        with connection.cursor() as cursor:
            sql, parameters = User.objects.filter(email="user3@shop5.org").query.sql_with_params()
            cursor.execute("EXPLAIN " + sql, parameters)
            self.assertIn("GlobalIndexLookup", cursor.fetchall()[0][0])

    def test_get_or_create(self):
        defaults = {"shop": Shop.objects.get(name="shop 2"), "name": "New"}
        for expected in (True, False):
            found, created = User.objects.get_or_create(email="new@example.org", defaults=defaults)
            self.assertEqual((created, found.shop.name), (expected, "shop 2"))
        for name in ("Other", "Another"):
            found, created = User.objects.update_or_create(email="user3@shop5.org", defaults={"name": name}, create_defaults=defaults)
            self.assertEqual((created, found.pk, found.name), (False, self.user.pk, name))
        found, created = Payment.objects.update_or_create(reference=uuid.UUID(int=1), defaults={
            "shop": self.user.shop, "order": self.user.order_set.get(), "amount": 5, "cancelled": True})
        self.assertTrue(created)

    def test_bulk_create(self):
        users = [User(shop=self.user.shop, email=email, name=email) for email in ("a@b.org", "user3@shop5.org", "c@d.org", "a@b.org")]
        User.objects.bulk_create(users, ignore_conflicts=True)
        self.assertEqual(User.objects.filter(name__contains="@").count(), 2)
        User.objects.bulk_create([User(shop=self.user.shop, email="a@b.org", name="A"), User(shop=self.user.shop, email="e@f.org", name="E")],
                                 update_conflicts=True, update_fields=["name"], unique_fields=["email"])
        self.assertEqual(list(User.objects.filter(email__in=["a@b.org", "e@f.org"]).order_by("email").values_list("name", flat=True)), ["A", "E"])
        users = list(User.objects.filter(shop__name="shop 4").order_by("email"))
        for number, user in enumerate(users):
            user.login = f"login {number}"
        User.objects.bulk_update(users, ["login"])
        self.assertEqual(User.objects.get(login="login 2"), users[2])

    def test_constraints(self):
        shop, order = self.user.shop, self.user.order_set.get()
        self.refused(lambda: User.objects.create(shop=Shop.objects.get(name="shop 1"), email="user3@shop5.org"))
        self.refused(lambda: User.objects.create(shop=shop, email="x@y.org", name="uSER 3"))
        self.refused(lambda: Shop.objects.create(name="shop 1"))
        self.refused(lambda: Order.objects.create(shop=shop, user_id=-1, number="B", placed=NEW_YEAR))
        self.refused(lambda: Order.objects.create(shop=shop, user=self.user, number="A-1", placed=NEW_YEAR))
        self.refused(lambda: Profile.objects.create(shop=shop, user=self.user))
        self.refused(lambda: Payment.objects.create(shop=shop, order=order, reference=uuid.uuid4(), amount=1))
        self.refused(lambda: Payment.objects.update(amount=-1))
        self.refused(lambda: order.tags.through.objects.create(order=order, tag=order.tags.first()))
        self.refused(lambda: order.tags.through.objects.create(order=order, tag_id=-1))
        with connection.cursor() as cursor:
            self.refused(lambda: cursor.execute("DELETE FROM shop_user WHERE id = %s", [self.user.pk]))
        with self.assertRaises(ProtectedError):
            self.user.delete()

    def test_references(self):
        User.objects.filter(shop__name="shop 3").update(referrer=self.user)
        self.assertEqual(self.user.referred.count(), 3)
        Payment.objects.filter(order__user=self.user).delete()
        _, counts = self.user.delete()
        self.assertEqual(counts, {"shop.User": 1, "shop.Profile": 1, "shop.Order": 1, "shop.Order_tags": 2})
        self.assertEqual(User.objects.exclude(referrer=None).count(), 0)
        old = Tag.objects.filter(name="old")
        self.assertEqual(Order.objects.filter(tags__in=old).count(), 14)
        self.assertEqual(old.delete()[1], {"shop.Tag": 5, "shop.Order_tags": 14})
        order = Order.objects.first()
        order.tags.add(*Tag.objects.filter(shop__name="shop 1"))
        order.tags.clear()
        self.assertEqual(Order.tags.through.objects.count(), 13)

    def test_moving_to_another_shop(self):
        """The row goes to another shard, its key stays, and so do references to it."""
        self.user.shop, self.user.name = Shop.objects.get(name="shop 1"), "moved"
        self.user.save()
        self.assertEqual(User.objects.get(email="user3@shop5.org").shop.name, "shop 1")
        self.assertEqual(self.user.order_set.get().shop.name, "shop 5")

    def test_administration(self):
        """Lists with search, filters, counts, pages and years, as the admin makes them; deletion of many."""
        listed = (User.objects.select_related("shop", "profile").filter(Q(email__icontains="user1") | Q(name__icontains="user 2"))
                  .annotate(orders=Count("order"), last=Max("order__placed")).order_by("-shop__name", "email"))
        pages = Paginator(listed, 3)
        self.assertEqual((pages.count, pages.num_pages, [user.email for user in pages.page(1)]),
                         (7, 3, ["user1@shop5.org", "user2@shop5.org", "user1@shop4.org"]))
        self.assertEqual(len(Order.objects.datetimes("placed", "month")), 5)
        self.assertEqual(Order.objects.filter(placed__year=2026, placed__month=3).count(), 3)
        paid = Payment.objects.filter(order=OuterRef("pk"))
        self.assertEqual(Order.objects.filter(~Exists(paid)).count(), 5)
        sums = Shop.objects.annotate(paid=Sum("payment__amount")).exclude(paid=None).order_by("paid").values_list("name", "paid")
        self.assertEqual(list(sums)[-1], ("shop 5", 200))
        orders = Order.objects.prefetch_related("tags", Prefetch("payment_set", to_attr="payments")).order_by("-pk")[:4]
        self.assertEqual([(len(order.tags.all()), len(order.payments)) for order in orders], [(2, 1)] * 4)
        self.assertEqual(Tag.objects.filter(order__user__email__endswith="shop5.org").distinct().count(), 2)
        Payment.objects.filter(shop__name="shop 5").delete()
        Shop.objects.filter(name="shop 5").delete()
        self.assertEqual((User.objects.count(), Order.tags.through.objects.count()), (10, 20))

    def test_introspection(self):
        """What frameworks read of the catalogs is what the migrations made."""
        with connection.cursor() as cursor:
            constraints = connection.introspection.get_constraints(cursor, "shop_user")
            relations = connection.introspection.get_relations(cursor, "shop_order_tags")
        unique = sorted((tuple(c["columns"]), c["primary_key"]) for c in constraints.values() if c["unique"] and None not in c["columns"])
        self.assertEqual(unique, [(("email",), False), (("id",), True), (("login",), False)])
        self.assertEqual({column: table for column, (_, table, *_) in relations.items()}, {"order_id": "shop_order", "tag_id": "shop_tag"})
        out = StringIO()
        call_command("inspectdb", "shop_profile", stdout=out)
        self.assertIn("user = models.OneToOneField('ShopUser', models.DO_NOTHING)", out.getvalue())
        call_command("makemigrations", "--check", "--dry-run", stdout=out)


class Concurrency(TransactionTestCase):
    """With commits; Django empties the tables afterwards, by TRUNCATE."""

    def in_threads(self, work, count=12):
        def run(number):
            try:
                return work(number)
            finally:
                connection.close()

        with ThreadPoolExecutor(4) as threads:
            return list(threads.map(run, range(count)))

    def test_select_for_update(self):
        fill(2)

        def pay_more(_):
            with transaction.atomic():
                payment = Payment.objects.select_for_update().get(order__user__email="user1@shop2.org") if _ % 2 else \
                    Payment.objects.select_for_update().get(order_id=Order.objects.get(user__email="user1@shop2.org").pk)
                payment.amount += 1
                payment.save(update_fields=["amount"])

        self.in_threads(pay_more)
        self.assertEqual(Payment.objects.get().amount, 32)
        Payment.objects.update(amount=F("amount") + 1)

    def test_one_of_many_creates(self):
        fill(4)
        shops = list(Shop.objects.all())
        found = self.in_threads(lambda number: User.objects.get_or_create(
            email="same@example.org", defaults={"shop": shops[number % 4], "name": f"by {number}"}))
        self.assertEqual(sum(created for _, created in found), 1)
        self.assertEqual(len({user.pk for user, _ in found}), 1)
        self.in_threads(lambda number: User.objects.update_or_create(email="same@example.org", defaults={"name": f"again {number}"}))
        self.assertEqual(User.objects.filter(name__startswith="again").count(), 1)
