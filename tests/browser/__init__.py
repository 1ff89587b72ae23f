"""The web interface in a real Chromium."""
