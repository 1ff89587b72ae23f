"""The spool between discovery and scraping: its files, the source a scraper reads, and the check of both."""
