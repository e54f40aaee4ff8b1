#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs rdma-core's own tests (pyverbs) and prints a line per case: "ok|fail|skip CASE [WHY]".

usage: rdma_core_suite.py TESTS_DIR DEV GID_INDEX [--shipped SUITE] [MODULE]...

TESTS_DIR is a folder called "tests" with rdma-core's tests in it. MODULE is a name such as
test_qp. Without a MODULE, all run that aren't for a certain adapter. A test may skip a feature that
the device doesn't claim to have. A skip for any other reason is a failure. With --shipped, it is
also a failure if a test doesn't pass that passes with the shipped module on this suite of machines,
according to Documentation/conformance.rst.
"""
import collections
import gc
import os
import re
import sys
import unittest

# The tests' words for features that may be absent. Some are under "Not supported" in README.md. The
# provider has neither rereg_mr nor advise_mr up to rdma-core 56 (verbs_err and verbs_odp test those of
# the kernel). The rest depends on the machine: no FLUSH before Linux 6.3, no huge pages, no GPU, and
# no PCI device, whose netdev the RDMA_CM tests of rdma-core 44 look for.
ABSENT = re.compile(r"""
    XRC | Raw\ Packet | QP\ type\ 8
    | rereg\ MR | Advise\ MR | huge\ pages | IBV_ACCESS_FLUSH
    | device\ memory | renderD128 | DMABUF | parent\ domain | import | net\ interface
""", re.X | re.I)
CONFORMANCE = os.path.join(os.path.dirname(__file__), "../../../Documentation/conformance.rst")
# Modules for certain adapters
VENDORS = re.compile("mlx|efa|cuda|irdma|tag_matching")


class Cases(unittest.TestResult):
    """Prints results. Cases that are skipped for the same reason are one line."""

    def __init__(self):
        super().__init__()
        self.left_out = collections.Counter()
        self.passed = set()
        self.failed = False

    @staticmethod
    def name(test):
        return test.id().removeprefix("tests.test_")

    def startTest(self, test):
        super().startTest(test)
        print("---", test.id(), file=sys.stderr, flush=True)

    def say(self, *words):
        print(*words, flush=True)

    def log(self, result, test, why=""):
        """Print a line that scripts/conformance reads"""
        print("===", result, self.name(test), why.replace("\n", " "), file=sys.stderr, flush=True)

    def addSuccess(self, test):
        self.log("ok", test)
        self.passed.add(self.name(test))
        self.say("ok", self.name(test))

    def fail(self, test, why):
        self.failed = True
        self.say("fail", self.name(test), why)

    def addFailure(self, test, err):
        print(self._exc_info_to_string(err, test), file=sys.stderr)
        why = f"{err[0].__name__}: {err[1]}".replace("\n", " ")
        self.log("fail", test, why)
        self.fail(test, why)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err:
            self.addFailure(test, err)

    def addSkip(self, test, reason):
        self.log("skip", test, reason)
        if ABSENT.search(reason):
            self.left_out[self.name(test).split(".")[0], reason] += 1
        else:
            self.fail(test, f"left out: {reason}")

    def compare(self, suite):
        """A test that passes with the shipped module must pass"""
        expected = passed_with_shipped(suite)
        for test in sorted(expected - self.passed):
            self.failed = True
            self.say("fail", f"shipped-{test}", "passes with the shipped module (conformance.rst)")
        if expected and expected <= self.passed:
            self.say("ok", f"all-{len(expected)}-of-the-shipped-module")
        if not expected:
            self.failed = True
            self.say("fail", "shipped", f"conformance.rst has no column of {suite}")

    def end(self):
        for (module, reason), count in self.left_out.items():
            self.say("skip", f"{module}-{count}", reason.replace("\n", " "))


def passed_with_shipped(suite):
    """Return: tests with "ok" in a column of conformance.rst. Two spaces separate its cells"""
    column, passed = None, set()
    with open(CONFORMANCE, encoding="utf-8") as file:
        for cells in (re.split("  +", line.strip()) for line in file):
            if cells[0] == "test" and f"{suite} shipped" in cells:
                column = cells.index(f"{suite} shipped")
            elif column and len(cells) > column and cells[column] == "ok":
                passed.add(cells[0])
    return passed


def load(folder, device, gid, modules):
    """Run the suite. The tests have their own parser, which gets their arguments"""
    sys.path[:0] = [os.path.dirname(folder), folder]
    sys.argv[1:] = ["--dev", device, "--gid", gid]
    from args_parser import parser
    parser.parse_args()
    if not modules:
        modules = [file[:-3] for file in sorted(os.listdir(folder)) if re.match(r"test_.*\.py$", file)
                   and not VENDORS.search(file)]
    return unittest.defaultTestLoader.loadTestsFromNames(f"tests.{module}" for module in modules)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    folder, device, gid, *modules = sys.argv[1:]
    suite = None
    if modules[:1] == ["--shipped"]:
        suite, *modules = modules[1:]
    # pyverbs destroys the objects of an aborted test in any order, and crashes
    gc.disable()
    cases = Cases()
    load(os.path.abspath(folder), device, gid, modules).run(cases)
    cases.end()
    if suite:
        cases.compare(suite)
    sys.stdout.flush()
    os._exit(cases.failed)


if __name__ == "__main__":
    main()
