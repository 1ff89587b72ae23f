"""The state of a run as plain files: export (`dump`) and import (`files`, `places`)."""
