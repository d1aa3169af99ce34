"""Model judges: what they are shown, how they are asked, and how their verdict is read."""
