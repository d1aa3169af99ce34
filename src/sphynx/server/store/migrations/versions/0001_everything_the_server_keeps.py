"""Everything the server keeps"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = (
    "orgs",
    "api_keys",
    "workers",
    "variables",
    "subscriptions",
    "prompts",
    "prompt_versions",
    "prompt_channels",
    "suites",
    "cases",
    "case_versions",
    "variants",
    "profiles",
    "bundles",
    "batches",
    "runs",
    "trials",
)


def upgrade() -> None:
    _accounts()
    _environment()
    _prompts()
    _cases()
    _variants()
    _batches()
    _runs()
    _trials()


def _accounts() -> None:
    op.create_table(
        "orgs",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orgs")),
        sa.UniqueConstraint("slug", name=op.f("uq_orgs_slug")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("start", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("permissions", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_api_keys_org_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_keys_hash")),
    )


def _environment() -> None:
    op.create_table(
        "subscriptions",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("plan", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_subscriptions_org_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subscriptions")),
    )
    with op.batch_alter_table("subscriptions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_subscriptions_org_id_plan"), ["org_id", "plan"], unique=False)

    op.create_table(
        "variables",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("secret", sa.Boolean(), nullable=False),
        sa.Column("preview", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_variables_org_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_variables")),
        sa.UniqueConstraint("org_id", "scope", "name", name=op.f("uq_variables_org_id_scope_name")),
    )


def _prompts() -> None:
    op.create_table(
        "prompt_channels",
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("prompt_id", sa.String(length=128), nullable=False),
        sa.Column("channel", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_prompt_channels_org_id")),
        sa.PrimaryKeyConstraint("org_id", "prompt_id", "channel", name=op.f("pk_prompt_channels")),
    )
    op.create_table(
        "prompt_versions",
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("prompt_id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_prompt_versions_org_id")),
        sa.PrimaryKeyConstraint("org_id", "prompt_id", "version", name=op.f("pk_prompt_versions")),
    )
    op.create_table(
        "prompts",
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_prompts_org_id")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_prompts")),
    )


def _cases() -> None:
    op.create_table(
        "case_versions",
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("case_id", sa.String(length=128), nullable=False),
        sa.Column("definition_hash", sa.String(length=64), nullable=False),
        sa.Column("author", sa.Text(), nullable=True),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.Column("definition_z", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_case_versions_org_id")),
        sa.PrimaryKeyConstraint("org_id", "case_id", "definition_hash", name=op.f("pk_case_versions")),
    )
    op.create_table(
        "cases",
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("suite_id", sa.String(length=128), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("definition_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_run_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_cases_org_id")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_cases")),
    )
    with op.batch_alter_table("cases", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_cases_org_id_suite_id"), ["org_id", "suite_id"], unique=False)

    op.create_table(
        "suites",
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_run_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_suites_org_id")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_suites")),
    )


def _variants() -> None:
    op.create_table(
        "bundles",
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_bundles_org_id")),
        sa.PrimaryKeyConstraint("org_id", "digest", name=op.f("pk_bundles")),
    )
    op.create_table(
        "profiles",
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("profile_z", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_profiles_org_id")),
        sa.PrimaryKeyConstraint("org_id", "version", name=op.f("pk_profiles")),
    )
    op.create_table(
        "variants",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("harness", sa.String(length=64), nullable=False),
        sa.Column("model", sa.String(length=255), nullable=False),
        sa.Column("sandbox", sa.String(length=64), nullable=False),
        sa.Column("profile", sa.String(length=64), nullable=False),
        sa.Column("user_model", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_variants_org_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_variants")),
        sa.UniqueConstraint(
            "org_id",
            "harness",
            "model",
            "sandbox",
            "profile",
            "user_model",
            name=op.f("uq_variants_org_id_harness_model_sandbox_profile_user_model"),
        ),
    )


def _batches() -> None:
    op.create_table(
        "batches",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("suite_id", sa.String(length=128), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("local", sa.Boolean(), nullable=False),
        sa.Column("checks_in", sa.Boolean(), nullable=False),
        sa.Column("trigger", sa.JSON(), nullable=True),
        sa.Column("cases", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("passed", sa.Integer(), nullable=False),
        sa.Column("scored", sa.Integer(), nullable=False),
        sa.Column("voided", sa.Integer(), nullable=False),
        sa.Column("enqueued", sa.Boolean(), nullable=False),
        sa.Column("author", sa.String(length=64), nullable=True),
        sa.Column("idempotency_key", sa.String(length=128), nullable=True),
        sa.Column("request_hash", sa.String(length=64), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_batches_org_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
        sa.UniqueConstraint("org_id", "idempotency_key", name=op.f("uq_batches_org_id_idempotency_key")),
    )
    with op.batch_alter_table("batches", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_batches_org_id_started_at_id"), ["org_id", "started_at", "id"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_batches_status_enqueued"), ["status", "enqueued"], unique=False)


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("batch_id", sa.String(length=128), nullable=False),
        sa.Column("case_id", sa.String(length=128), nullable=False),
        sa.Column("suite_id", sa.String(length=128), nullable=False),
        sa.Column("case_name", sa.Text(), nullable=False),
        sa.Column("variant_id", sa.String(length=128), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("trials", sa.Integer(), nullable=False),
        sa.Column("definition_hash", sa.String(length=64), nullable=False),
        sa.Column("harness_version", sa.Text(), nullable=False),
        sa.Column("profile_version", sa.String(length=64), nullable=True),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_runs_org_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_runs_batch_id_position"), ["batch_id", "position"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_runs_org_id_case_id_variant_id_started_at"),
            ["org_id", "case_id", "variant_id", "started_at"],
            unique=False,
        )


def _trials() -> None:
    op.create_table(
        "trials",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("org_id", sa.String(length=64), nullable=False),
        sa.Column("batch_id", sa.String(length=128), nullable=False),
        sa.Column("run_id", sa.String(length=128), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=True),
        sa.Column("commands", sa.Integer(), nullable=False),
        sa.Column("costs", sa.JSON(), nullable=True),
        sa.Column("result_z", sa.LargeBinary(), nullable=True),
        sa.Column("journal_z", sa.LargeBinary(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_trials_org_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trials")),
        sa.UniqueConstraint("run_id", "ordinal", name=op.f("uq_trials_run_id_ordinal")),
    )
    with op.batch_alter_table("trials", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_trials_batch_id"), ["batch_id"], unique=False)


def downgrade() -> None:
    for name in reversed(TABLES):
        op.drop_table(name)
