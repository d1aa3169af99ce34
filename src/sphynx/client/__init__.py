"""Talk to a Sphynx server: ``Sphynx`` for plain code, ``AsyncSphynx`` for async code.

Both offer every operation of the HTTP interface under the same names; what they do on the wire is written
once (``protocol``), so they cannot differ.
"""

from sphynx.client.asynchronous import AsyncSphynx
from sphynx.client.blocking import Sphynx

__all__ = ["AsyncSphynx", "Sphynx"]
