"""What the application does, by Django's ORM: within a tenant, which is one shard, and over all of them."""

from concurrent.futures import ThreadPoolExecutor

from django.db import IntegrityError, connection, transaction
from django.db.models import Avg, Count, F, OuterRef, Prefetch, Q, Subquery, Sum, Window
from django.db.models.functions import Rank
from django.test import TestCase, TransactionTestCase
from django_multitenant.utils import get_current_tenant, set_current_tenant, unset_current_tenant

from messaging.models import Channel, Country, Message, Organization, Reaction, User


def fill(organizations=6):
    """Organization n has n users, two channels, and n messages in each of them."""
    country = Country.objects.create(name="Utopia")
    made = Organization.objects.bulk_create(
        [Organization(name=f"organization {n}", country=country) for n in range(1, organizations + 1)])
    for n, organization in enumerate(made, start=1):
        users = User.objects.bulk_create([User(organization=organization, name=f"user {i}") for i in range(n)])
        for title in ["general", "random"]:
            channel = Channel.objects.create(organization=organization, name=title)
            Message.objects.bulk_create([Message(organization=organization, channel=channel, author=user,
                                                 text=f"from {user.name}", likes=i)
                                         for i, user in enumerate(users)])
    return made


class Tenants(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.organizations = fill()

    def setUp(self):
        self.tenant = self.organizations[3]
        set_current_tenant(self.tenant)
        self.addCleanup(unset_current_tenant)

    def test_a_tenant_sees_its_rows(self):
        self.assertEqual(get_current_tenant(), self.tenant)
        self.assertEqual(User.objects.count(), 4)
        self.assertEqual(Message.objects.filter(channel__name="general").count(), 4)
        self.assertEqual(Message.objects.aggregate(Sum("likes"))["likes__sum"], 12)
        with self.assertNumQueries(1):
            found = list(Message.objects.select_related("author", "channel").order_by("channel__name", "-likes")[:3])
        self.assertEqual([(m.channel.name, m.author.name) for m in found],
                         [("general", "user 3"), ("general", "user 2"), ("general", "user 1")])

    def test_a_tenants_query_is_one_task(self):
        with connection.cursor() as cursor:
            sql, parameters = (Message.objects.filter(author__active=True).values("channel__name")
                               .annotate(Count("id")).query.sql_with_params())
            cursor.execute("EXPLAIN " + sql, parameters)
            plan = "\n".join(line for line, in cursor.fetchall())
        self.assertIn("Task Count: 1", plan)

    def test_writes(self):
        channel = Channel.objects.get(name="random")
        message, created = Message.objects.get_or_create(channel=channel, author=User.objects.first(), text="new",
                                                         organization=self.tenant)
        self.assertTrue(created)
        message.text = "changed"
        message.save()
        Message.objects.filter(id=message.id).update(likes=F("likes") + 5)
        message.refresh_from_db()
        self.assertEqual((message.text, message.likes), ("changed", 5))
        Reaction.objects.create(message=message, emoji="+1", organization=self.tenant)
        _, counts = channel.delete()
        self.assertEqual(counts, {"messaging.Channel": 1, "messaging.Message": 5, "messaging.Reaction": 1})
        self.assertEqual(Message.objects.count(), 4)

    def test_constraints(self):
        def refused(make):
            with self.assertRaises(IntegrityError), transaction.atomic():
                make()
                connection.check_constraints()

        refused(lambda: Channel.objects.create(organization=self.tenant, name="general"))
        refused(lambda: Message.objects.update(likes=-1))
        refused(lambda: Message.objects.create(organization=self.tenant, text="", author_id=-1,
                                               channel=Channel.objects.first()))
        unset_current_tenant()
        refused(lambda: Organization.objects.create(name="nowhere", country_id=-1))

    def test_json_and_bulk(self):
        users = list(User.objects.order_by("name"))
        for i, user in enumerate(users):
            user.settings = {"theme": "dark" if i % 2 else "light", "sizes": [i]}
        User.objects.bulk_update(users, ["settings"])
        self.assertEqual(User.objects.filter(settings__theme="dark").count(), 2)
        self.assertEqual(User.objects.filter(settings__sizes__contains=[3]).get().name, "user 3")
        Channel.objects.bulk_create(
            [Channel(organization=self.tenant, name=name, topic="t") for name in ["general", "third"]],
            update_conflicts=True, update_fields=["topic"], unique_fields=["organization", "name"])
        self.assertEqual(list(Channel.objects.order_by("name").values_list("name", "topic")),
                         [("general", "t"), ("random", ""), ("third", "t")])


class AllTenants(TestCase):
    @classmethod
    def setUpTestData(cls):
        fill()

    def test_analytics(self):
        self.assertEqual(Message.objects.count(), 42)
        found = (Organization.objects.annotate(n=Count("message"), liked=Avg("message__likes"))
                 .filter(n__gt=4).order_by("-n").values_list("name", "n", "liked"))
        self.assertEqual(list(found)[:2], [("organization 6", 12, 2.5), ("organization 5", 10, 2.0)])
        latest = Message.objects.filter(organization=OuterRef("pk")).order_by("-likes", "-id").values("author__name")[:1]
        self.assertEqual([o.author for o in Organization.objects.annotate(author=Subquery(latest)).order_by("name")],
                         [f"user {n}" for n in range(6)])
        ranked = Organization.objects.annotate(n=Count("user")).annotate(
            place=Window(Rank(), order_by=F("n").desc())).order_by("place")
        self.assertEqual([o.place for o in ranked], [1, 2, 3, 4, 5, 6])
        names = Channel.objects.filter(Q(name__startswith="gen") | Q(organization__name__endswith="1"))
        self.assertEqual(names.values("name").distinct().count(), 2)

    def test_writes_of_all(self):
        self.assertEqual(Message.objects.filter(author__name="user 0").update(likes=100), 12)
        few = Organization.objects.annotate(n=Count("user")).filter(n__lt=3)
        self.assertEqual(Message.objects.filter(organization__in=few).delete()[0], 6)
        organizations = Organization.objects.prefetch_related(
            Prefetch("message_set", Message.objects.filter(likes=100))).order_by("name")
        self.assertEqual([len(o.message_set.all()) for o in organizations], [0, 0, 2, 2, 2, 2])
        first = Organization.objects.order_by("-name").first()
        first.delete()
        self.assertEqual(User.objects.count(), 15)
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            User.objects.all().delete()
            raise ZeroDivisionError
        self.assertEqual(User.objects.count(), 15)


class Concurrency(TransactionTestCase):
    """With commits; Django empties the tables afterwards, by TRUNCATE."""

    def test_counters(self):
        message = fill(1)[0].message_set.first()

        def like(_):
            try:
                with transaction.atomic():
                    locked = Message.objects.select_for_update().get(id=message.id)
                    locked.likes += 1
                    locked.save(update_fields=["likes"])
            finally:
                connection.close()

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(like, range(12)))
        message.refresh_from_db()
        self.assertEqual(message.likes, 12)
