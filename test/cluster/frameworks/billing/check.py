"""
Makes the tables, distributes them, has Alembic find no difference and bring an older version up to date, and uses them by
SQLAlchemy's ORM: `python -m billing.check URL`. What is wrong is an exception.
"""

import sys

from alembic.autogenerate import compare_metadata, produce_migrations
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.operations.ops import OpContainer
from sqlalchemy import create_engine, delete, func, inspect, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError, NoResultFound
from sqlalchemy.orm import Session, selectinload

from billing.models import Base, Circle, Customer, Invoice, Payment, Tenant

# What an older version of the application lacks.
OLDER = """
ALTER TABLE customer DROP COLUMN login;
ALTER TABLE payment DROP CONSTRAINT payment_reference, DROP CONSTRAINT payment_invoice;
DROP INDEX payment_of_invoice, customer_lower"""
COLUMNS = {"tenant": "id", "circle": "tenant_id", "customer": "tenant_id", "invoice": "tenant_id", "payment": "tenant_id",
           "membership": "customer_id"}


def check(found, expected):
    assert found == expected, f"{found!r} instead of {expected!r}"


def reflected(engine):
    """All that SQLAlchemy reads of the tables."""
    found = inspect(engine)
    return {table: [found.get_columns(table), found.get_pk_constraint(table),
                    *(sorted(read(table), key=lambda one: one["name"])
                      for read in (found.get_unique_constraints, found.get_foreign_keys, found.get_indexes))] for table in COLUMNS}


def differences(connection):
    return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), Base.metadata)


def migrate(engine):
    """Distributes an older version, and applies what Alembic generates to bring it up to date."""
    with engine.begin() as connection:
        connection.execute(text(OLDER))
    before = reflected(engine)
    with engine.begin() as connection:
        for table, column in COLUMNS.items():
            other = "none" if table in ("tenant", "membership") else "tenant"
            connection.execute(text(f"SELECT create_distributed_table('{table}', '{column}', colocate_with => '{other}')"))
    check(str(reflected(engine)), str(before))
    with engine.begin() as connection:
        context = MigrationContext.configure(connection)
        pending = produce_migrations(context, Base.metadata).upgrade_ops.ops
        while pending:
            operation, *pending = pending
            if isinstance(operation, OpContainer):
                pending = operation.ops + pending
            else:
                Operations(context).invoke(operation)
    with engine.connect() as connection:
        check(differences(connection), [])


def fill(session):
    """Tenant n has n customers, each with two invoices, paid by two payments each."""
    for n in range(1, 7):
        tenant = Tenant(name=f"tenant {n}")
        session.add(tenant)
        session.flush()
        circle = Circle(tenant_id=tenant.id, name="all")
        session.add_all(Customer(
            tenant=tenant, email=f"Customer{i}@t{n}.org", circles=[circle],
            invoices=[Invoice(tenant_id=tenant.id, number=f"{i}/{k}", payments=[Payment(tenant_id=tenant.id, amount=n) for _ in range(2)])
                      for k in range(2)]) for i in range(n))
    session.commit()


def found_by_key(session):
    customer = session.scalars(select(Customer).where(Customer.email == "Customer2@t4.org")
                               .options(selectinload(Customer.invoices).selectinload(Invoice.payments))).one()
    check([len(invoice.payments) for invoice in customer.invoices], [2, 2])
    check(session.get(Invoice, customer.invoices[1].id).customer, customer)
    check(session.scalar(select(func.sum(Payment.amount)).join(Invoice).join(Customer).where(Customer.email.in_(
        ["Customer2@t4.org", "Customer0@t1.org"]))), 20)
    locked = select(Payment).where(Payment.reference == customer.invoices[0].payments[0].reference).with_for_update()
    session.scalars(locked).one().amount += 1
    session.commit()
    check([circle.name for circle in customer.circles], ["all"])


def upserts(session):
    tenant = session.scalars(select(Tenant.id).where(Tenant.name == "tenant 1")).one()
    rows = [{"tenant_id": tenant, "email": email, "login": email} for email in ("new@t1.org", "Customer1@t5.org")]
    check(len(session.execute(insert(Customer).values(rows).on_conflict_do_nothing(index_elements=["email"]).returning(Customer.id)).all()), 1)
    statement = insert(Customer).values(rows)
    statement = statement.on_conflict_do_update(index_elements=["email"], set_={"login": statement.excluded.login}).returning(Customer.tenant_id)
    check(len(set(session.scalars(statement))), 2)
    session.commit()
    check(session.scalars(select(Customer).where(Customer.login == "Customer1@t5.org")).one().tenant.name, "tenant 5")


def deletes(session):
    """The database deletes what belongs to a customer, or a tenant, wherever it is."""
    counts = select(*(select(func.count()).select_from(table).scalar_subquery() for table in (Customer, Invoice, Payment)))
    check(tuple(session.execute(counts).one()), (22, 42, 84))
    session.delete(session.scalars(select(Customer).where(Customer.email == "Customer2@t4.org")).one())
    session.commit()
    check(tuple(session.execute(counts).one()), (21, 40, 80))
    session.execute(delete(Tenant).where(Tenant.name == "tenant 5"))
    session.commit()
    check(tuple(session.execute(counts).one()), (16, 30, 60))
    try:
        session.scalars(select(Customer).where(Customer.email == "Customer2@t4.org")).one()
    except NoResultFound:
        return
    raise AssertionError("found a row that is gone")


def constraints(engine):
    def payments_exchange(session):
        """Allowed until the end of the transaction."""
        first, second = session.scalars(select(Payment).order_by(Payment.id).limit(2))
        first.reference = second.reference
        session.flush()

    for make in [lambda session: session.add(Customer(tenant_id=1, email="Customer0@t1.org")),
                 lambda session: session.add(Customer(tenant_id=1, email="customer0@T1.ORG")),
                 lambda session: session.add(Payment(tenant_id=1, invoice_id=-1, amount=1)),
                 payments_exchange]:
        with Session(engine) as session:
            try:
                make(session)
                session.commit()
            except IntegrityError:
                continue
            raise AssertionError("not refused")


def main(url):
    engine = create_engine(url, connect_args={"options": "-c citus.global_indexes=on"})
    Base.metadata.create_all(engine)
    with engine.connect() as connection:
        check(differences(connection), [])
    migrate(engine)
    with Session(engine) as session:
        fill(session)
        found_by_key(session)
        upserts(session)
        deletes(session)
    constraints(engine)
    Base.metadata.drop_all(engine)


main(sys.argv[1])
