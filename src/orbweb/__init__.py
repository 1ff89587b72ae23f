"""orbweb: a crawler that never loses its place and tells why it did what it did."""

__version__ = "0.1.0"
