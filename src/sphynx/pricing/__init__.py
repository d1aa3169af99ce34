"""What tokens cost, from price tables that ship with packages: nothing is fetched, nothing is invented."""

from __future__ import annotations

from sphynx.pricing.price import Price, price
from sphynx.pricing.rates import Rates, Tokens

__all__ = ["Price", "Rates", "Tokens", "price"]
