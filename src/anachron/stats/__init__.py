"""Statistics on plain arrays; nothing here knows of suites."""
