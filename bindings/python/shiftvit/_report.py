"""The reports of what was read from a file, whatever their length."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TypeVar

from . import errors
from ._structs import LoadReportRecord

_REPORT_BYTES = 1 << 16

_Read = TypeVar("_Read")


def read_reported(read: Callable[[LoadReportRecord], _Read], lines: list[str]) -> tuple[_Read, LoadReportRecord]:
    """Calls ``read`` with a report, and again with more room if the text did not fit. ``lines`` becomes the text, also
    if ``read`` raises an Error."""
    capacity = _REPORT_BYTES
    while True:
        text = ctypes.create_string_buffer(capacity)
        record = LoadReportRecord(struct_size=ctypes.sizeof(LoadReportRecord), capacity=capacity)
        record.text = ctypes.addressof(text)
        try:
            result = read(record)
            if record.needed <= capacity:
                return result, record
        except errors.Error:
            if record.needed <= capacity:
                raise
        finally:
            lines[:] = text.value.decode("utf-8", "replace").splitlines()
        capacity = record.needed
