"""Projects are the tenants; states are the same for all of them."""

from datetime import datetime
from enum import Enum

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, ForeignKeyConstraint, Identity, Index, String, func
from sqlalchemy.dialects.postgresql import ENUM, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Priority(Enum):
    low = 1
    high = 2
    urgent = 3


class Base(DeclarativeBase):
    pass


class State(Base):
    __tablename__ = "state"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40), unique=True)


class Project(Base):
    __tablename__ = "project"

    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    name: Mapped[str]
    tickets: Mapped[list["Ticket"]] = relationship(back_populates="project", cascade="all, delete-orphan")


class Ticket(Base):
    __tablename__ = "ticket"

    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    state_id: Mapped[int] = mapped_column(ForeignKey("state.id"))
    title: Mapped[str] = mapped_column(String(200))
    priority: Mapped[Priority] = mapped_column(ENUM(Priority, name="priority"), server_default="low")
    data: Mapped[dict] = mapped_column(JSONB, server_default="{}")
    version: Mapped[int] = mapped_column(server_default="1")
    project: Mapped[Project] = relationship(back_populates="tickets")
    state: Mapped[State] = relationship()
    comments: Mapped[list["Comment"]] = relationship(back_populates="ticket", cascade="all, delete-orphan")

    __table_args__ = (
        CheckConstraint("title <> ''", name="has_title"),
        Index("ticket_data", "data", postgresql_using="gin"),
    )
    __mapper_args__ = {"version_id_col": version}


class Comment(Base):
    __tablename__ = "comment"

    project_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    ticket_id: Mapped[int] = mapped_column(BigInteger)
    text: Mapped[str]
    written: Mapped[datetime] = mapped_column(server_default=func.now())
    ticket: Mapped[Ticket] = relationship(back_populates="comments")

    __table_args__ = (ForeignKeyConstraint(["project_id", "ticket_id"], ["ticket.project_id", "ticket.id"],
                                           name="comment_of_ticket", ondelete="CASCADE"),)
