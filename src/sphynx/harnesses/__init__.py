"""Agents: how each is installed, started, continued and understood. One file per agent."""
