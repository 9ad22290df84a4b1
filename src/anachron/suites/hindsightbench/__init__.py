"""Suite `hindsightbench`: does the date token trigger hindsight, does a story follow a false date, where does
recall end (HindsightBench, protocol BM-1)."""
