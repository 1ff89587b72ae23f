"""Bytes become trees, links and sitemap entries. Pure."""
