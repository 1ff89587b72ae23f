"""A run as one HTML file, and the pictures that it shares with the pages of the server.

`page` draws it from the records of `facts`; everything here is pure. The file requests nothing and runs nothing.
"""
