"""A copy of the workflow in a temporary folder, run once on a tiny protocol; tests work on copies of that."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow_checkout import Checkout, fresh


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout in which the leaderboard has been made once."""
    checkout = fresh(tmp_path_factory.mktemp("finished") / "clone")
    checkout.snakemake("leaderboard")
    return checkout


@pytest.fixture
def checkout(finished: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the finished checkout, to edit."""
    return finished.copy(tmp_path / "clone")
