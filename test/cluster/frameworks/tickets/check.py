"""
Runs the migrations, uses the tables by SQLAlchemy's ORM, and migrates back: `python -m tickets.check URL`. What is wrong
is an exception.
"""

import os
import sys

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, selectinload
from sqlalchemy.orm.exc import StaleDataError

from tickets.models import Base, Comment, Priority, Project, State, Ticket


def check(found, expected):
    assert found == expected, f"{found!r} instead of {expected!r}"


def fill(session):
    """Project n has n tickets, each with a comment."""
    session.add_all(Project(name=f"project {n}", tickets=[
        Ticket(title=f"ticket {i}", state_id=1 + i % 2, comments=[Comment(text=f"comment {i}")], data={"tags": [f"t{i % 3}"]})
        for i in range(n)]) for n in range(1, 9))
    session.commit()


def one_project(session):
    """What concerns one project: loading with what hangs on it, changing, moving, deleting."""
    project = session.scalars(select(Project).where(Project.name == "project 5")
                              .options(selectinload(Project.tickets).selectinload(Ticket.comments))).one()
    check([len(project.tickets), sum(len(t.comments) for t in project.tickets)], [5, 5])
    project.tickets[0].priority = Priority.urgent
    project.tickets[1].comments.append(Comment(text="one more"))
    session.delete(project.tickets[2])
    session.commit()
    check(session.scalar(select(func.count()).select_from(Comment).where(Comment.project_id == project.id)), 5)
    tagged = select(Ticket.title).where(Ticket.project_id == project.id, Ticket.data.contains({"tags": ["t1"]}))
    check(sorted(session.scalars(tagged)), ["ticket 1", "ticket 4"])


def stale_versions(engine):
    """Optimistic locking: of two sessions that change a row the second fails."""
    ticket = select(Ticket).where(Ticket.priority == Priority.urgent)
    with Session(engine) as first, Session(engine) as second:
        one, other = first.scalars(ticket).one(), second.scalars(ticket).one()
        one.title, other.title = "first", "second"
        first.commit()
        try:
            second.commit()
        except StaleDataError:
            return
        raise AssertionError("a stale version was written")


def all_projects(session):
    per_state = (select(State.name, func.count(), func.count(Ticket.project_id.distinct()))
                 .join(Ticket).group_by(State.name).order_by(State.name))
    check([tuple(row) for row in session.execute(per_state)], [("closed", 16, 7), ("open", 19, 8)])
    busy = select(Ticket.project_id).group_by(Ticket.project_id).having(func.count() > 6).cte("busy")
    urgent = update(Ticket).where(Ticket.project_id.in_(select(busy.c.project_id))).values(priority=Priority.high)
    check(session.execute(urgent.execution_options(synchronize_session=False)).rowcount, 15)
    rows = session.execute(insert(Comment).returning(Comment.id), [
        {"project_id": t.project_id, "ticket_id": t.id, "text": "to all"} for t in session.scalars(select(Ticket))])
    check(len(set(rows.scalars())), 35)
    check(session.execute(delete(Comment).where(Comment.text == "to all")).rowcount, 35)
    session.commit()


def constraints(engine):
    for statement in [insert(Ticket).values(project_id=-1, state_id=1, title="x"),
                      insert(Comment).values(project_id=1, ticket_id=-1, text="x"),
                      update(Ticket).values(title=""), delete(State)]:
        with Session(engine) as session:
            try:
                session.execute(statement)
                session.commit()
            except IntegrityError:
                continue
            raise AssertionError(f"not refused: {statement}")


def main(url):
    engine = create_engine(url)
    config = Config()
    config.set_main_option("script_location", os.path.dirname(os.path.abspath(__file__)))
    config.attributes["engine"] = engine
    command.upgrade(config, "head")
    with engine.connect() as connection:
        check(compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), Base.metadata), [])
    with Session(engine) as session:
        fill(session)
        one_project(session)
        stale_versions(engine)
        all_projects(session)
    constraints(engine)
    command.downgrade(config, "base")
    with engine.connect() as connection:
        check(connection.scalar(text("SELECT count(*) FROM pg_dist_partition")), 0)


main(sys.argv[1])
