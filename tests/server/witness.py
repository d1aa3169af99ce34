"""Triggers in a server's database that write down every beginning and every end of a trial, as it happens."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from server.whole import until
from sphynx.server.store.database import sync_engine

_ENDED = "('passed', 'failed', 'void')"
_POSTGRES = f"""
create table seen (trial text, what text, attempt int, worker text, at double precision);
create function see() returns trigger language plpgsql as $$ begin
  if new.attempt <> old.attempt then
    insert into seen values (new.id, 'begun', new.attempt, new.worker, extract(epoch from clock_timestamp()));
  end if;
  if new.status in {_ENDED} then
    insert into seen values (new.id, 'ended', new.attempt, new.worker, extract(epoch from clock_timestamp()));
  end if;
  return new;
end $$;
create trigger see after update of status, attempt on trials for each row execute function see();
"""
_NOW = "(julianday('now') - 2440587.5) * 86400.0"
_SQLITE = (
    "create table seen (trial text, what text, attempt int, worker text, at real)",
    f"""create trigger see_begun after update of attempt on trials when new.attempt <> old.attempt begin
      insert into seen values (new.id, 'begun', new.attempt, new.worker, {_NOW}); end""",
    f"""create trigger see_ended after update of status on trials when new.status in {_ENDED} begin
      insert into seen values (new.id, 'ended', new.attempt, new.worker, {_NOW}); end""",
)


@dataclass(frozen=True)
class Seen:
    """One beginning or end of a trial."""

    trial: str
    what: str
    attempt: int
    worker: str
    at: float


class Witness:
    """Reads what the triggers of a database wrote."""

    def __init__(self, url: str) -> None:
        self._engine = sync_engine(url, poolclass=sa.NullPool)
        with self._engine.begin() as connection:
            for statement in _SQLITE if self._engine.dialect.name == "sqlite" else (_POSTGRES,):
                connection.exec_driver_sql(statement)

    def rows(self, query: str, **values: Any) -> list[Any]:
        with self._engine.connect() as connection:
            return list(connection.execute(sa.text(query), values).all())

    def seen(self) -> list[Seen]:
        return [
            Seen(*row) for row in self.rows("select trial, what, attempt, worker, at from seen order by at")
        ]

    def running(self, worker: str = "%") -> dict[str, int]:
        """The attempts under way of a worker whose name is like this, by trial."""
        query = "select id, attempt from trials where status = 'running' and worker like :worker"
        return {row.id: row.attempt for row in self.rows(query, worker=worker)}

    def wait_for_running(self, worker: str, least: int = 2) -> dict[str, int]:
        """The trials of a worker, once it has some."""
        until(lambda: len(self.running(worker)) >= least, 60)
        return self.running(worker)

    def taken_over(self, lost: dict[str, int], since: float, seconds: float) -> list[float]:
        """Wait until each of these attempts has ended or another has begun; how long those others took."""

        def over() -> bool:
            last = {one.trial: one for one in self.seen()}
            return all(
                last[name].what == "ended" or last[name].attempt > number for name, number in lost.items()
            )

        until(over, seconds + since - time.time())
        again = [
            one.at - since
            for one in self.seen()
            if one.what == "begun" and one.attempt == lost.get(one.trial, 0) + 1 and one.attempt > 1
        ]
        return sorted(round(seconds, 1) for seconds in again)

    def check(self, trials: int) -> None:
        """Every trial has begun, and has ended exactly once, at its last attempt."""
        seen = self.seen()
        ends = Counter(one.trial for one in seen if one.what == "ended")
        begins = Counter((one.trial, one.attempt) for one in seen if one.what == "begun")
        assert len(ends) == trials
        assert set(ends.values()) == {1}, "a trial ended twice"
        assert set(begins.values()) == {1}, "an attempt began twice"
        last = {one.trial: one for one in seen}
        assert all(one.what == "ended" for one in last.values())
        for trial, one in last.items():
            assert one.attempt == max(attempt for name, attempt in begins if name == trial)


def waited(what: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call took, and what it gave."""
    begun = time.monotonic()
    result = what()
    return time.monotonic() - begun, result
