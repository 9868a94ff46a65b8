"""Nothing here knows of a cluster: each table has a key of one column, by which others reference it."""

from django.db import models
from django.db.models.functions import Lower


class Shop(models.Model):
    name = models.CharField(max_length=100, unique=True)


class User(models.Model):
    shop = models.ForeignKey(Shop, models.CASCADE)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=100)
    login = models.CharField(max_length=40, null=True, unique=True)
    referrer = models.ForeignKey("self", models.SET_NULL, null=True, related_name="referred")

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), "shop", name="user_name_of_shop")]


class Profile(models.Model):
    user = models.OneToOneField(User, models.CASCADE)
    shop = models.ForeignKey(Shop, models.CASCADE)
    text = models.TextField(default="")


class Tag(models.Model):
    shop = models.ForeignKey(Shop, models.CASCADE)
    name = models.CharField(max_length=40)

    class Meta:
        unique_together = [("shop", "name")]


class Order(models.Model):
    shop = models.ForeignKey(Shop, models.CASCADE)
    user = models.ForeignKey(User, models.CASCADE)
    number = models.CharField(max_length=20)
    placed = models.DateTimeField()
    tags = models.ManyToManyField(Tag)

    class Meta:
        unique_together = [("shop", "number")]
        indexes = [models.Index(fields=["placed"], name="order_placed")]


class Payment(models.Model):
    shop = models.ForeignKey(Shop, models.CASCADE)
    order = models.ForeignKey(Order, models.PROTECT)
    reference = models.UUIDField(unique=True)
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    cancelled = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(amount__gt=0), name="payment_is_positive"),
            models.UniqueConstraint(fields=["order"], condition=models.Q(cancelled=False), name="one_payment_of_order"),
        ]
