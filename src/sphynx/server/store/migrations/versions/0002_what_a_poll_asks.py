"""What a poll asks is answered from an index alone"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

COLUMNS = ["batch_id", "status", "attempt", "finished_at"]
NAME = "ix_trials_batch_id_status_attempt_finished_at"


def upgrade() -> None:
    with op.batch_alter_table("trials") as table:
        table.create_index(NAME, COLUMNS)
        table.drop_index("ix_trials_batch_id")


def downgrade() -> None:
    with op.batch_alter_table("trials") as table:
        table.create_index("ix_trials_batch_id", ["batch_id"])
        table.drop_index(NAME)
