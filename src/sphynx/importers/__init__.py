"""Make suites of case files people already have, and say what is wrong with a skill's."""
