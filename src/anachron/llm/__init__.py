"""Asking models, paying once, losing nothing. Nothing in here knows of finance or of a suite.

``keys``       what makes two requests the same request
``plan``       what a model is asked of a table of requests
``store``      the paid answers: one SQLite file per model, one commit per answer
``records``    the rows of a store: requests, attempts, answers
``writer``     the one that writes them while many requests are in flight, and waits for the disk beside
``lock``       one collecting process per store
``repair``     reading a damaged store as far as it goes
``providers``  how each provider is asked and how its answers are read
``http``       one HTTP exchange
``client``     many of them: retries, stops, nothing lost
``limits``     how fast an account is asked
``budget``     the run-wide stop
``collect``    one block of requests to sealed transcripts
``progress``   how far a block is
``prices``     the price file: what a call costs on a day
``cost``       what asking will cost, before anything is spent
``ledger``     what the stores say was spent
``status``     how far a run is, told from another terminal
"""
