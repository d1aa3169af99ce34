"""Counts for Prometheus."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa

from sphynx.server.store.database import Database
from sphynx.server.store.tables import BATCHES, TRIALS


class Metrics:
    """What this process has answered since it started."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()

    def count(self, operation: str, status: int, seconds: float) -> None:
        """One request was answered."""
        self._requests[operation, status] += 1
        self._seconds[operation] += seconds  # type: ignore[assignment]

    async def text(self, database: Database) -> str:
        """Everything in Prometheus' text format."""
        lines = ["# TYPE sphynx_requests_total counter"]
        for (name, status), count in sorted(self._requests.items()):
            lines.append(f'sphynx_requests_total{{operation="{name}",status="{status}"}} {count}')
        lines.append("# TYPE sphynx_request_seconds_total counter")
        for name, seconds in sorted(self._seconds.items()):
            lines.append(f'sphynx_request_seconds_total{{operation="{name}"}} {seconds:.6f}')
        async with database.read() as connection:
            for table, label in ((BATCHES, "batches"), (TRIALS, "trials")):
                lines.append(f"# TYPE sphynx_{label} gauge")
                query = sa.select(table.c.status, sa.func.count()).group_by(table.c.status)
                for status, count in sorted(map(tuple, (await connection.execute(query)).all())):
                    lines.append(f'sphynx_{label}{{status="{status}"}} {count}')
        return "\n".join(lines) + "\n"
