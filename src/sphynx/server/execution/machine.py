"""One worker's trials: from a trial's id to its recorded result."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import sqlalchemy as sa

from sphynx.compiler.profiles import Profile
from sphynx.contracts import TrialKey
from sphynx.engine import BatchFolder, read_events
from sphynx.engine.local import shared_recorder
from sphynx.engine.trial import Machine, TrialJob, run_trial
from sphynx.journal.entries import entries
from sphynx.results.wire import trial_to_wire
from sphynx.sandboxes.case_cache import CaseCache
from sphynx.sandboxes.local_root import LocalRoot
from sphynx.schema.records import TrialRecord
from sphynx.server.execution.backends import Backends
from sphynx.server.execution.checkpoints import StoredCheckpoints
from sphynx.server.execution.containers import Containers, OfTrial
from sphynx.server.execution.rebuilt import Rebuilt, bundle_digest, forget, rebuild, write_bundle
from sphynx.server.lending import lent
from sphynx.server.starting import profile_from
from sphynx.server.store import batches, catalog, environment
from sphynx.server.store.database import Database, patiently
from sphynx.server.store.tables import CASE_VERSIONS, RUNS, TRIALS, VARIANTS, expand
from sphynx.server.vault import SealedError, Vault

_LOG = logging.getLogger("sphynx.worker")
_SHARED = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
MOST_ATTEMPTS = 10
"""A trial whose workers have been lost this often is what they were lost of."""
_SETTLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """A trial that runs on this machine now."""

    trial_id: str
    number: int
    batch_id: str
    scope: anyio.CancelScope


def _again(attempt: int) -> dict[str, Any]:
    """What a trial says in whose sandbox nobody can go on."""
    return {"note": f"attempt {attempt}: the worker of the one before was lost, so it began anew"}


class TrialRunner:
    """Runs trials of hosted batches on this machine."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        data: Path,
        environ: Mapping[str, str],
        worker: str,
        *,
        isolate: bool,
        containers: Containers | None = None,
    ) -> None:
        self._database = database
        self._vault = vault
        self._data = data
        self._environ = environ
        self._worker = worker
        self._isolate = isolate
        self.root = LocalRoot(data / "local")
        self.backends = Backends(self.root, environ, containers)
        self.stopping = False
        self._attempts: set[Attempt] = set()

    @property
    def attempts(self) -> list[Attempt]:
        """What runs here now."""
        return list(self._attempts)

    async def empty(self) -> None:
        """Wait until nothing runs here."""
        while self._attempts:  # noqa: ASYNC110 - asked once, at the end of a worker
            await anyio.sleep(0.05)

    def cancel(self, attempts: Iterable[Attempt]) -> None:
        """Stop these, with all their processes."""
        for attempt in attempts:
            attempt.scope.cancel()

    async def run(self, trial_id: str) -> str:
        """Run one trial and record it: ``settled``, or ``over`` when there was nothing left to do.

        A worker that is being stopped never returns from here, so that another one takes the trial.
        """
        if self.stopping:
            await anyio.sleep_forever()
        number = await patiently(lambda: batches.begin_trial(self._database, trial_id, self._worker))
        if number is None:
            return "over"
        found = await patiently(lambda: self._load(trial_id))
        with anyio.CancelScope() as scope:
            attempt = Attempt(trial_id, number, found["batch_id"], scope)
            self._attempts.add(attempt)
            if self.stopping:
                scope.cancel()
            try:
                return await self._attempt(trial_id, number, found)
            finally:
                self._attempts.remove(attempt)
        if self.stopping:
            await anyio.sleep_forever()
        return "over"

    async def _attempt(self, trial_id: str, attempt: int, found: Mapping[str, Any]) -> str:
        if attempt > MOST_ATTEMPTS:
            await self._void(trial_id, attempt, found, f"Its workers were lost {MOST_ATTEMPTS} times")
            return "settled"
        folder = BatchFolder.create(self._work(trial_id) / str(attempt), trial_id)
        try:
            job, machine = await patiently(lambda: self._prepared(trial_id, found, folder))
            image = found["options"].get("image")
            async with self.backends.of(
                found["batch_id"], found["sandbox"], trial_id, attempt, image
            ) as backend:
                folder.trial_started(job.key)
                where = folder.trial_folder(job.key)
                kept = StoredCheckpoints(self._database, backend) if isinstance(backend, OfTrial) else None
                record = await run_trial(job, machine(backend, kept))
                sandbox_id = getattr(backend, "sandbox_id", None)
            again = _again(attempt) if kept is None else kept.told
            events = list(read_events(where))
            await self._settle(trial_id, attempt, sandbox_id, record, entries(events), again)
            return "settled"
        except SealedError as error:
            _LOG.error(error.message, extra={"trial": trial_id})
            reason = f"The server could not run this trial: {error.message}"
            await self._void(trial_id, attempt, found, reason)
            return "settled"
        except Exception as error:
            _LOG.error("trial broke", extra={"trial": trial_id, "error": type(error).__name__})
            reason = f"The server could not run this trial: {type(error).__name__}"
            await self._void(trial_id, attempt, found, reason)
            return "settled"
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._forget, trial_id, attempt)

    def _work(self, trial_id: str) -> Path:
        return self._data / "work" / trial_id

    def _forget(self, trial_id: str, attempt: int) -> None:
        """Remove what this attempt and those before it have left; a later one may be at work beside them."""
        for number in range(1, attempt + 1):
            forget(self._work(trial_id) / str(number))
        with suppress(OSError):
            self._work(trial_id).rmdir()

    async def _load(self, trial_id: str) -> dict[str, Any]:
        async with self._database.read() as connection:
            query = (
                sa.select(
                    TRIALS.c.ordinal,
                    RUNS,
                    VARIANTS.c.harness,
                    VARIANTS.c.model,
                    VARIANTS.c.sandbox,
                    CASE_VERSIONS.c.definition_z,
                )
                .join(RUNS, RUNS.c.id == TRIALS.c.run_id)
                .join(VARIANTS, VARIANTS.c.id == RUNS.c.variant_id)
                .join(
                    CASE_VERSIONS,
                    sa.and_(
                        CASE_VERSIONS.c.org_id == RUNS.c.org_id,
                        CASE_VERSIONS.c.case_id == RUNS.c.case_id,
                        CASE_VERSIONS.c.definition_hash == RUNS.c.definition_hash,
                    ),
                )
                .where(TRIALS.c.id == trial_id)
            )
            return dict((await connection.execute(query)).mappings().one())

    async def _prepared(
        self, trial_id: str, found: Mapping[str, Any], folder: BatchFolder
    ) -> tuple[TrialJob, Any]:
        stored = expand(found["definition_z"])
        org = found["org_id"]
        async with self._database.read() as connection:
            version = found["profile_version"]
            profile = profile_from(await catalog.profile_of(connection, org, version)) if version else None
            digest = bundle_digest(stored)
            packed = await catalog.bundle_of(connection, org, digest) if digest else None
        staging = self._data / "bundles" / org
        bundle = None
        if packed is not None and digest is not None:
            bundle = await anyio.to_thread.run_sync(write_bundle, packed, digest, staging)
        rebuilt = self._rebuilt(stored, found, profile, bundle)
        env = await self._environment(org, rebuilt, profile)
        key = TrialKey(
            found["batch_id"], found["suite_id"], found["case_id"], rebuilt.variant.label, found["ordinal"]
        )
        job = TrialJob(key, rebuilt.suite, rebuilt.case, rebuilt.variant)

        plain = found["sandbox"] == "local" and not self._isolate

        def machine(backend: Any, kept: StoredCheckpoints | None) -> Machine:
            return Machine(
                backend=backend, folder=folder, sinks=(), host_env=env, forwarded={},
                cache=CaseCache(LocalRoot(self._data / "orgs" / org)),
                recorder=shared_recorder(self.root) if plain else None, isolate=self._isolate,
                checkpoints=kept,
            )  # fmt: skip

        return job, machine

    def _rebuilt(
        self, stored: Mapping[str, Any], found: Mapping[str, Any], profile: Profile | None, bundle: Any
    ) -> Rebuilt:
        return rebuild(
            stored,
            definition_hash=found["definition_hash"],
            of_variant={
                "harness": found["harness"], "model": found["model"], "version": found["harness_version"],
                "options": found["options"],
            },
            profile=profile,
            bundle_ref=bundle,
        )  # fmt: skip

    async def _environment(self, org: str, rebuilt: Rebuilt, profile: Profile | None) -> dict[str, str]:
        """What this trial is given, beside what every program of this machine needs."""
        async with self._database.read() as connection:
            given = await lent(
                connection, org, self._vault, self._environ,
                variant=rebuilt.variant.variant, profile=profile, case=rebuilt.case.case,
            )  # fmt: skip
        async with self._database.write() as connection:
            await environment.mark_used(connection, org, given)
        return {**{name: self._environ[name] for name in _SHARED if name in self._environ}, **given}

    async def _settle(
        self,
        trial_id: str,
        attempt: int,
        sandbox_id: str | None,
        record: TrialRecord,
        journal: list[dict[str, Any]],
        again: Mapping[str, Any],
    ) -> None:
        result = trial_to_wire(record, [])
        del result["trajectory"]
        result["id"] = trial_id
        result["sandboxId"] = sandbox_id or result["sandboxId"]
        if attempt > 1:
            result["x-sphynx"] = {**result.get("x-sphynx", {}), "attempt": attempt, **again}
        await self._kept(trial_id, attempt, result, journal, record.harness_version)

    async def _void(self, trial_id: str, attempt: int, found: Mapping[str, Any], reason: str) -> None:
        result = batches.blank_trial(trial_id, found["ordinal"], "void", reason)
        await self._kept(trial_id, attempt, result, [])

    async def _kept(
        self,
        trial_id: str,
        attempt: int,
        result: Mapping[str, Any],
        journal: list[dict[str, Any]],
        harness_version: str = "",
    ) -> None:
        async def keep() -> None:
            async with self._database.write() as connection:
                first = await batches.settle_trial(
                    self._database, connection, trial_id, result, journal,
                    harness_version=harness_version, attempt=attempt,
                )  # fmt: skip
            if not first:
                _LOG.info("a result came too late", extra={"trial": trial_id, "attempt": attempt})

        # A result that is there is worth a moment's wait to a worker that is being stopped.
        with anyio.move_on_after(_SETTLE_S, shield=True):
            await patiently(keep)
            return
        await patiently(keep)
