"""What runs inside a container: its first process and the program behind a call. Standard library only."""
