"""One server process for ``server.py``: ours, or a bare FastAPI whose one SQL query answers as many bytes.

    python benchmarks/server_sides.py ours DATA URL
    python benchmarks/server_sides.py bare DATA URL

Prints its port, and serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import uvicorn
from fastapi import FastAPI, Request, Response
from sqlalchemy.ext.asyncio import create_async_engine


def ours(data: Path, url: str) -> Any:
    """The application of ``sphynx serve``, without a limit on requests."""
    from sphynx.server.api.context import Services
    from sphynx.server.app import create_app
    from sphynx.server.configuration import Configuration
    from sphynx.server.store.database import Database
    from sphynx.server.vault import open_vault

    configuration = Configuration(data=data, database_url=url, rate_limit=10**9)
    return create_app(Services(configuration, Database(url), open_vault(data, {}), {}))


def bare(data: Path, url: str) -> Any:
    """A poll is one query for a hundred texts, a list one for a hundred rows and one for their count."""
    sqlite = url.startswith("sqlite")
    driver = "sqlite+aiosqlite" if sqlite else "postgresql+psycopg"
    options: dict[str, Any] = {} if sqlite else {"pool_size": 10, "max_overflow": 10}
    engine = create_async_engine(sa.make_url(url).set(drivername=driver), **options)
    app = FastAPI()

    @app.post("/poll")
    async def poll(request: Request) -> Response:
        asked = await request.json()
        async with engine.connect() as connection:
            query = sa.text("select body from plain_trials where batch_id = :id order by id")
            rows = (await connection.execute(query, asked)).scalars().all()
        return Response('{"trials":[' + ",".join(rows) + "]}", media_type="application/json")

    @app.post("/touch")
    async def touch(request: Request) -> Response:
        asked = await request.json()
        async with engine.begin() as connection:
            await connection.execute(sa.text("update plain_trials set touched = :at where id = 1"), asked)
        return Response(status_code=204)

    @app.post("/list")
    async def list_(request: Request) -> Response:
        asked = await request.json()
        async with engine.connect() as connection:
            query = sa.text("select body from plain_batches where at < :at order by at desc limit 100")
            rows = (await connection.execute(query, asked)).scalars().all()
            total = (await connection.execute(sa.text("select count(*) from plain_batches"))).scalar_one()
        text = f'{{"batches":[{",".join(rows)}],"total":{total}}}'
        return Response(text, media_type="application/json")

    return app


def main() -> None:
    side, data, url = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    app = {"ours": ours, "bare": bare}[side](data, url)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, access_log=False)
    server = uvicorn.Server(config)

    def watch() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True

    async def serve() -> None:
        task = asyncio.create_task(server.serve())
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        print(server.servers[0].sockets[0].getsockname()[1], flush=True)
        await task

    threading.Thread(target=watch, daemon=True).start()
    asyncio.run(serve())


if __name__ == "__main__":
    main()
