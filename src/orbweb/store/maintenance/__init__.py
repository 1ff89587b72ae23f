"""Damage: found, named and repaired."""
