"""A parsed page in memory: the tree, selectors on it, and what it says about itself and leads to."""
