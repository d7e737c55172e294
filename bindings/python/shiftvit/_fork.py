"""What a child by ``os.fork`` needs: it has only the thread that made it, and locks that others held stay locked."""

from __future__ import annotations

import os
import threading
import weakref


class OfThreads:
    """An object with locks, or with a table of the threads that use it."""

    def renew(self) -> None:
        """Forgets, in a child by fork, all threads but this one."""
        raise NotImplementedError


_objects: weakref.WeakSet[OfThreads] = weakref.WeakSet()

#: Calls ``renew`` of an object in each child by fork.
watch = _objects.add


def renewed(lock: threading.RLock) -> threading.RLock:
    """``lock``, or a new one if it is held by another thread, which is not there to release it."""
    if lock.acquire(blocking=False):
        lock.release()
        return lock
    return threading.RLock()


def _renew_all() -> None:
    for each in list(_objects):
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
