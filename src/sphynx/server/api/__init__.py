"""The HTTP interface: one handler per operation of ``sphynx.schema.operations``, one file per resource."""
