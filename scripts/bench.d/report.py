# SPDX-License-Identifier: GPL-2.0
"""Common functions of the reports of scripts/bench."""

import csv
import statistics
import sys

# The first line of a picture
SVG_LICENCE = """<!-- SPDX-License-Identifier: GPL-2.0 -->
"""


def human(size):
    for limit, unit in (1 << 20, "MiB"), (1 << 10, "KiB"):
        if size >= limit:
            return f"{size // limit} {unit}"
    return f"{size} B"


def spread(values):
    """Difference of the highest and the lowest, in per cent of the median."""
    return round(100 * (max(values) - min(values)) / statistics.median(values), 1)


def folder(doc):
    """The argument of a report: the folder with raw.csv."""
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(doc)
    return sys.argv[1]


def write_ratios(name, rows):
    with open(name, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def write_svg(name, width, height, body, size=11):
    with open(name, "w") as file:
        file.write(f'{SVG_LICENCE}<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                   f'font-family="sans-serif" font-size="{size}">\n<rect width="100%" height="100%" fill="white"/>\n'
                   + "\n".join(body) + "\n</svg>\n")
