"""The spool between discovery and scraping: its files, their writer and reader, the source of a scraper, the
check."""
