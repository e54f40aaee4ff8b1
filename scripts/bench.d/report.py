# SPDX-License-Identifier: GPL-2.0
"""What the reports of scripts/bench have in common."""

import statistics


def human(size):
    for limit, unit in (1 << 20, "MiB"), (1 << 10, "KiB"):
        if size >= limit:
            return f"{size // limit} {unit}"
    return f"{size} B"


def spread(values):
    """Between the lowest and the highest, in per cent of the median."""
    return round(100 * (max(values) - min(values)) / statistics.median(values), 1)
