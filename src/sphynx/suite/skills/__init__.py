"""Agent Skills: read the evals that lie beside a skill and make suites of them. Standard library only."""
