"""Evals of coding agents."""
