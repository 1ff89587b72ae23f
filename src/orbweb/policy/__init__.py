"""May this URL be visited, and by which rule. Pure."""
