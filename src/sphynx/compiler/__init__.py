"""From eval files to what runs: discovery, import, bundles, profiles, requests.

``compile_files`` serves the engine; ``compile_eval`` and ``compile_definition`` give the request of the wire.
"""

from sphynx.compiler.compile import compile_definition, compile_eval, compile_files

__all__ = ["compile_definition", "compile_eval", "compile_files"]
