"""What runs inside a trial's sandbox: the check program, prepare, solutions and the shell recorder.

Standard library only: it travels with the bundle into sandboxes that have nothing but Python. The way in
is :func:`sphynx.guest.program.run_op` (already in the right process) or ``python -m sphynx.guest`` (a fresh
interpreter); what goes over the wire is written down in :mod:`sphynx.guest.protocol`.
"""
