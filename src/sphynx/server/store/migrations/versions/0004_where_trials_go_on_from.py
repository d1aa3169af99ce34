"""Where trials go on from whose worker was lost"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("trial_id", sa.String(128), nullable=False),
        sa.Column("sandbox_id", sa.String(128)),
        sa.Column("state_z", sa.LargeBinary),
        sa.Column("why_not", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("trial_id", name=op.f("pk_checkpoints")),
    )
    op.create_index(op.f("ix_checkpoints_sandbox_id"), "checkpoints", ["sandbox_id"])


def downgrade() -> None:
    op.drop_table("checkpoints")
