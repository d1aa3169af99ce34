"""Readers of what agents print: lines in, journal events out. Pure: no process, no file, no clock.

One module per agent, one class each, all with the shape of ``reading.Reader``.
"""
