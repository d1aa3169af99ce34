"""Simulated people: who answers the agent between its turns, played by a model or by another agent."""
