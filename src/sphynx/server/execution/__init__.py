"""Running hosted batches: from a stored definition to trials of the engine, durably."""
