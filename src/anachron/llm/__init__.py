"""Asking models, paying once, losing nothing. Nothing in here knows of finance or of a suite.

``keys``       what makes two requests the same request
``store``      the paid answers: one SQLite file per model, one commit per answer
``lock``       one collecting process per store
``repair``     reading a damaged store as far as it goes
``providers``  how each provider is asked and how its answers are read
``collect``    one block of requests to sealed transcripts
``progress``   how far a block is
"""
