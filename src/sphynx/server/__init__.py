"""A server of one's own: HTTP interface, store, and workers that run trials (extra ``server``)."""
