"""Bytes become trees, links and entries. Pure."""
