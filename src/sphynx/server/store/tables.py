"""The tables. Times are epoch milliseconds; ``LargeBinary`` columns named ``*_z`` hold compressed JSON."""

from __future__ import annotations

import json
import zlib
from typing import Any

import msgspec
import sqlalchemy as sa

METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id(name: str = "id", **more: Any) -> sa.Column[str]:
    return sa.Column(name, sa.String(128), nullable=False, **more)


def _org() -> sa.Column[str]:
    return sa.Column("org_id", sa.String(64), sa.ForeignKey("orgs.id"), nullable=False)


def _at(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=nullable)


ORGS = sa.Table(
    "orgs", METADATA, _id(primary_key=True), sa.Column("name", sa.Text, nullable=False),
    sa.Column("slug", sa.String(100), nullable=False, unique=True), _at("created_at"),
)  # fmt: skip

API_KEYS = sa.Table(
    "api_keys", METADATA, _id(primary_key=True), _org(), sa.Column("name", sa.Text, nullable=False),
    sa.Column("start", sa.String(16), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
    sa.Column("permissions", sa.JSON, nullable=False), _at("created_at"), _at("expires_at", nullable=True),
    _at("revoked_at", nullable=True),
)  # fmt: skip

VARIABLES = sa.Table(
    "variables", METADATA, _id(primary_key=True), _org(), sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("name", sa.String(128), nullable=False), sa.Column("secret", sa.Boolean, nullable=False),
    sa.Column("preview", sa.Text, nullable=False), sa.Column("sealed", sa.LargeBinary, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False), _at("created_at"), _at("updated_at"),
    _at("last_used_at", nullable=True), sa.UniqueConstraint("org_id", "scope", "name"),
)  # fmt: skip

SUBSCRIPTIONS = sa.Table(
    "subscriptions", METADATA, _id(primary_key=True), _org(),
    sa.Column("plan", sa.String(16), nullable=False), sa.Column("status", sa.String(16), nullable=False),
    sa.Column("is_default", sa.Boolean, nullable=False), sa.Column("sealed", sa.LargeBinary, nullable=False),
    _at("created_at"), _at("last_used_at", nullable=True), sa.Index(None, "org_id", "plan"),
)  # fmt: skip

PROMPTS = sa.Table(
    "prompts", METADATA, _org(), _id(), sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text), _at("created_at"), _at("updated_at"),
    sa.PrimaryKeyConstraint("org_id", "id"),
)  # fmt: skip

PROMPT_VERSIONS = sa.Table(
    "prompt_versions", METADATA, _org(), _id("prompt_id"), sa.Column("version", sa.Integer, nullable=False),
    sa.Column("content", sa.Text, nullable=False), sa.Column("config", sa.JSON, nullable=False),
    sa.Column("message", sa.Text), _at("created_at"),
    sa.PrimaryKeyConstraint("org_id", "prompt_id", "version"),
)  # fmt: skip

PROMPT_CHANNELS = sa.Table(
    "prompt_channels", METADATA, _org(), _id("prompt_id"),
    sa.Column("channel", sa.String(36), nullable=False),
    sa.Column("version", sa.Integer, nullable=False), _at("updated_at"),
    sa.PrimaryKeyConstraint("org_id", "prompt_id", "channel"),
)  # fmt: skip

SUITES = sa.Table(
    "suites", METADATA, _org(), _id(), sa.Column("name", sa.Text, nullable=False), _at("created_at"),
    _at("last_run_at"), sa.PrimaryKeyConstraint("org_id", "id"),
)  # fmt: skip

CASES = sa.Table(
    "cases", METADATA, _org(), _id(), _id("suite_id"), sa.Column("name", sa.Text, nullable=False),
    sa.Column("tags", sa.JSON, nullable=False), sa.Column("definition_hash", sa.String(64), nullable=False),
    _at("created_at"), _at("last_run_at"), sa.PrimaryKeyConstraint("org_id", "id"),
    sa.Index(None, "org_id", "suite_id"),
)  # fmt: skip

CASE_VERSIONS = sa.Table(
    "case_versions", METADATA, _org(), _id("case_id"),
    sa.Column("definition_hash", sa.String(64), nullable=False), sa.Column("author", sa.Text),
    sa.Column("changes", sa.JSON, nullable=False), sa.Column("definition_z", sa.LargeBinary, nullable=False),
    _at("created_at"), sa.PrimaryKeyConstraint("org_id", "case_id", "definition_hash"),
)  # fmt: skip

VARIANTS = sa.Table(
    "variants", METADATA, _id(primary_key=True), _org(), sa.Column("harness", sa.String(64), nullable=False),
    sa.Column("model", sa.String(255), nullable=False), sa.Column("sandbox", sa.String(64), nullable=False),
    sa.Column("profile", sa.String(64), nullable=False),
    sa.Column("user_model", sa.String(255), nullable=False),
    sa.UniqueConstraint("org_id", "harness", "model", "sandbox", "profile", "user_model"),
)  # fmt: skip

PROFILES = sa.Table(
    "profiles", METADATA, _org(), sa.Column("version", sa.String(64), nullable=False),
    sa.Column("profile_z", sa.LargeBinary, nullable=False), sa.PrimaryKeyConstraint("org_id", "version"),
)  # fmt: skip

BUNDLES = sa.Table(
    "bundles", METADATA, _org(), sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("packed", sa.LargeBinary, nullable=False), sa.PrimaryKeyConstraint("org_id", "digest"),
)  # fmt: skip

BATCHES = sa.Table(
    "batches", METADATA, _id(primary_key=True), _org(), _id("suite_id"),
    sa.Column("status", sa.String(16), nullable=False), sa.Column("failure", sa.Text),
    sa.Column("local", sa.Boolean, nullable=False), sa.Column("checks_in", sa.Boolean, nullable=False),
    sa.Column("trigger", sa.JSON), sa.Column("cases", sa.Integer, nullable=False),
    sa.Column("runs", sa.Integer, nullable=False), sa.Column("passed", sa.Integer, nullable=False),
    sa.Column("scored", sa.Integer, nullable=False), sa.Column("voided", sa.Integer, nullable=False),
    sa.Column("enqueued", sa.Boolean, nullable=False), sa.Column("author", sa.String(64)),
    sa.Column("priority", sa.Integer, nullable=False, server_default="5"),
    sa.Column("idempotency_key", sa.String(128)), sa.Column("request_hash", sa.String(64)),
    _at("started_at"), _at("seen_at"), _at("finished_at", nullable=True),
    sa.UniqueConstraint("org_id", "idempotency_key"), sa.Index(None, "org_id", "started_at", "id"),
    sa.Index(None, "status", "enqueued"),
)  # fmt: skip

RUNS = sa.Table(
    "runs", METADATA, _id(primary_key=True), _org(), _id("batch_id"), _id("case_id"), _id("suite_id"),
    sa.Column("case_name", sa.Text, nullable=False), _id("variant_id"),
    sa.Column("position", sa.Integer, nullable=False), sa.Column("status", sa.String(16), nullable=False),
    sa.Column("trials", sa.Integer, nullable=False),
    sa.Column("definition_hash", sa.String(64), nullable=False),
    sa.Column("harness_version", sa.Text, nullable=False), sa.Column("profile_version", sa.String(64)),
    sa.Column("options", sa.JSON, nullable=False), _at("started_at"), _at("finished_at", nullable=True),
    sa.Index(None, "org_id", "case_id", "variant_id", "started_at"), sa.Index(None, "batch_id", "position"),
)  # fmt: skip

TRIALS = sa.Table(
    "trials", METADATA, _id(primary_key=True), _org(), _id("batch_id"), _id("run_id"),
    sa.Column("ordinal", sa.Integer, nullable=False), sa.Column("status", sa.String(16), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False), sa.Column("worker", sa.String(128)),
    sa.Column("commands", sa.Integer, nullable=False), sa.Column("costs", sa.JSON),
    sa.Column("result_z", sa.LargeBinary), sa.Column("journal_z", sa.LargeBinary),
    _at("started_at", nullable=True), _at("finished_at", nullable=True),
    sa.UniqueConstraint("run_id", "ordinal"),
    # A poll is answered from it alone, however long the journals are.
    sa.Index(None, "batch_id", "status", "attempt", "finished_at"),
)  # fmt: skip

CHECKPOINTS = sa.Table(
    "checkpoints", METADATA, _id("trial_id", primary_key=True),
    sa.Column("sandbox_id", sa.String(128)), sa.Column("state_z", sa.LargeBinary),
    sa.Column("why_not", sa.Text, nullable=False), sa.Index(None, "sandbox_id"),
)  # fmt: skip
"""Where a trial may be gone on from, or why it may not; gone with the trial's end."""

WORKERS = sa.Table("workers", METADATA, _id(primary_key=True), _at("seen_at"))

ENDED = ("passed", "failed", "void")
"""Statuses a trial stays in."""


def squeeze(value: Any) -> bytes:
    """A JSON value for a ``*_z`` column."""
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Half a surrogate pair, as a report may hold one.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return zlib.compress(text, 6)


def expand(data: bytes | None, default: Any = None) -> Any:
    """What ``squeeze`` was given."""
    return default if data is None else msgspec.json.decode(zlib.decompress(data))


def as_stored(data: bytes | None) -> msgspec.Raw:
    """The same as JSON text that an encoder takes as it is; an empty list where there is none."""
    return msgspec.Raw(b"[]" if data is None else zlib.decompress(data))
