"""Organizations are the tenants; all that belongs to one is where it is."""

from django.db import models
from django_multitenant.fields import TenantForeignKey
from django_multitenant.models import TenantModel


class Country(models.Model):
    """The same for all tenants."""

    name = models.CharField(max_length=100, unique=True)

    class Meta:
        db_table = "country"


class Organization(TenantModel):
    name = models.CharField(max_length=100)
    country = models.ForeignKey(Country, models.PROTECT)

    class TenantMeta:
        tenant_field_name = "id"


class OfOrganization(TenantModel):
    organization = models.ForeignKey(Organization, models.CASCADE)

    class TenantMeta:
        tenant_field_name = "organization_id"

    class Meta:
        abstract = True
        unique_together = ["id", "organization"]


class User(OfOrganization):
    name = models.CharField(max_length=100)
    settings = models.JSONField(default=dict)
    active = models.BooleanField(default=True)


class Channel(OfOrganization):
    name = models.CharField(max_length=100)
    topic = models.CharField(max_length=500, default="")

    class Meta(OfOrganization.Meta):
        unique_together = [("id", "organization"), ("organization", "name")]


class Message(OfOrganization):
    author = TenantForeignKey(User, models.CASCADE)
    channel = TenantForeignKey(Channel, models.CASCADE)
    text = models.TextField()
    sent = models.DateTimeField(auto_now_add=True)
    likes = models.IntegerField(default=0)
    edited = models.DateTimeField(null=True)

    class Meta(OfOrganization.Meta):
        indexes = [models.Index(fields=["organization", "channel", "sent"], name="by_channel")]
        constraints = [models.CheckConstraint(condition=models.Q(likes__gte=0), name="not_disliked")]


class Reaction(OfOrganization):
    message = TenantForeignKey(Message, models.CASCADE)
    emoji = models.CharField(max_length=8)

    class Meta(OfOrganization.Meta):
        indexes = [models.Index(fields=["organization", "message"], name="by_message")]
