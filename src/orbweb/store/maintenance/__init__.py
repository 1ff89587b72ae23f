"""`doctor`: finding and repairing damage of a workspace."""
