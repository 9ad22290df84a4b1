"""HindsightBench (protocol BM-1): does a date trigger hindsight, and where does recall end."""
