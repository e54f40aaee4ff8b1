# SPDX-License-Identifier: GPL-2.0
"""Common functions of the scripts that read the source, and generate or check documents."""
import argparse
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The first line of a picture
SVG_LICENCE = """<!-- SPDX-License-Identifier: GPL-2.0 -->
"""


def sources(folders, ends):
    """Sorted paths of the files in @folders whose names end with @ends, relative to TOP"""
    for folder in folders:
        for path, _, names in sorted(os.walk(os.path.join(TOP, folder))):
            for name in sorted(names):
                if name.endswith(ends):
                    yield os.path.relpath(os.path.join(path, name), TOP)


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def parse_arguments(doc, *options):
    """The arguments: --check and @options, which are flags. @doc is the help"""
    parser = argparse.ArgumentParser(description=doc, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--check", *options):
        parser.add_argument(option, action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def write(path, want):
    with open(os.path.join(TOP, path), "w", encoding="utf-8") as file:
        file.write(want)


def report(path, want, problems):
    """Prints @problems, and one more if the file isn't @want. Return: exit status"""
    if not os.path.exists(os.path.join(TOP, path)) or read(path) != want:
        problems.append(f"{path} isn't up to date: run scripts/{os.path.basename(sys.argv[0])}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0
