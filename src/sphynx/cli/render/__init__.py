"""Pure functions from records and events to lines of text."""
