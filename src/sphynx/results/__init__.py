"""What trials add up to: distribution, statistics, gate, verdicts, evidence, costs. Pure functions."""

from __future__ import annotations

from sphynx.results.distribution import Distribution, distribution

__all__ = ["Distribution", "distribution"]
