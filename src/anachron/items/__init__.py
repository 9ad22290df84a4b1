"""What models are asked about: tables of items built from the sources."""
