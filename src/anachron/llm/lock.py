"""One collecting process per store.

The workflow engine, killed hard, leaves its child running: two collectors on one store would pay twice for
the same requests. The kernel drops this lock with the process, however it ends, so no stale lock remains.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from anachron.errors import CollectError


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; inside it stand the holder's process id, host and start time.

    The file stays when the lock is released: removing it would let two processes lock two files of one name.

    Raises
    ------
    CollectError
        When another process holds it (the text names that process), or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise CollectError(f"{path}: the lock file cannot be written ({error.strerror})") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CollectError(_refusal(path)) from None
        except OSError as error:
            raise CollectError(
                f"{path}: this file system offers no file locks ({error.strerror}); "
                "keep the store on a local disk"
            ) from None
        _sign(handle)
        yield
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _sign(handle: int) -> None:
    holder = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(holder).encode(), 0)


def _refusal(path: Path) -> str:
    for _ in range(10):
        try:
            holder = json.loads(path.read_bytes())
            who = f"process {holder['pid']} on {holder['host']}, started {holder['started']}"
            break
        except (OSError, ValueError, KeyError, TypeError):
            time.sleep(0.05)  # the holder has the lock and is about to sign it
    else:
        who = "another process"
    return (
        f"{path.with_suffix('.sqlite')}: {who}, is collecting into this store. "
        "Two collectors would pay twice: wait for it to end, or end it, then run again; every answer it has "
        "received is kept"
    )
