"""Nothing here knows of a cluster; tenants are the distribution column."""

from decimal import Decimal
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, Column, ForeignKey, Identity, Index, Numeric, String, Table, UniqueConstraint, func, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    pass


def key():
    return mapped_column(BigInteger, Identity(), primary_key=True)


def tenant():
    return mapped_column(ForeignKey("tenant.id", ondelete="CASCADE"))


membership = Table("membership", Base.metadata,
                   Column("customer_id", ForeignKey("customer.id", ondelete="CASCADE"), primary_key=True),
                   Column("circle_id", ForeignKey("circle.id", ondelete="CASCADE"), primary_key=True))


class Tenant(Base):
    __tablename__ = "tenant"

    id: Mapped[int] = key()
    name: Mapped[str] = mapped_column(unique=True)


class Circle(Base):
    __tablename__ = "circle"

    id: Mapped[int] = key()
    tenant_id: Mapped[int] = tenant()
    name: Mapped[str]


class Customer(Base):
    __tablename__ = "customer"

    id: Mapped[int] = key()
    tenant_id: Mapped[int] = tenant()
    email: Mapped[str] = mapped_column(String(200), unique=True)
    login: Mapped[str | None] = mapped_column(String(40), unique=True)
    deleted: Mapped[bool] = mapped_column(server_default="false")
    tenant: Mapped[Tenant] = relationship()
    invoices: Mapped[list["Invoice"]] = relationship(back_populates="customer", cascade="all, delete-orphan", passive_deletes=True)
    circles: Mapped[list[Circle]] = relationship(secondary=membership)

    __table_args__ = (Index("customer_lower", func.lower(text("email")), unique=True, postgresql_where=text("NOT deleted")),)


class Invoice(Base):
    __tablename__ = "invoice"

    id: Mapped[int] = key()
    tenant_id: Mapped[int] = tenant()
    customer_id: Mapped[int] = mapped_column(ForeignKey("customer.id", ondelete="CASCADE"))
    number: Mapped[str]
    customer: Mapped[Customer] = relationship(back_populates="invoices")
    payments: Mapped[list["Payment"]] = relationship(back_populates="invoice", passive_deletes=True)

    __table_args__ = (UniqueConstraint("tenant_id", "number"),)


class Payment(Base):
    __tablename__ = "payment"

    id: Mapped[int] = key()
    tenant_id: Mapped[int] = tenant()
    invoice_id: Mapped[int] = mapped_column(ForeignKey("invoice.id", ondelete="CASCADE", name="payment_invoice"))
    reference: Mapped[UUID] = mapped_column(default=uuid4)
    amount: Mapped[Decimal] = mapped_column(Numeric(10, 2))
    invoice: Mapped[Invoice] = relationship(back_populates="payments")

    __table_args__ = (UniqueConstraint("reference", name="payment_reference", deferrable=True, initially="DEFERRED"),
                      Index("payment_of_invoice", "invoice_id"))
