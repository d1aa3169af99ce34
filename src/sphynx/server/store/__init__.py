"""What the server keeps: one module per kind of thing, SQLAlchemy Core on SQLite or Postgres."""
