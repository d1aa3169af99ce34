"""The command line: parse, call one function of a lower room, render."""
