"""Which batch goes first"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("batches") as table:
        table.add_column(sa.Column("priority", sa.Integer, nullable=False, server_default="5"))


def downgrade() -> None:
    with op.batch_alter_table("batches") as table:
        table.drop_column("priority")
