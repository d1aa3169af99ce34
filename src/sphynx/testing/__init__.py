"""Fakes users may rely on. ``sphynx.testing.scripted_model`` is a model server that plays a script."""
