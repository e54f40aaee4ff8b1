#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: ktap.py LOG

Reads a kernel log with KUnit's results.  Prints a line per case, then the totals.

The exit status is 0 only if suites ran, all planned suites and cases have results, and none failed.
"""
import re
import sys

STAMP = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\] ?")
RESULT = re.compile(r"^( *)(not ok|ok) \d+ ?-? ?([^#]*?)(?: # (.*))?$")

NOTES = 30    # lines of a failed case's messages that are printed


class Report:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.suite = "?"
        self.plan = self.seen = 0         # cases of the suite
        self.plan_suites = self.seen_suites = 0
        self.params = 0
        self.notes = []

    def case(self, good, name, directive):
        self.seen += 1
        detail = f" ({self.params} parameters)" if self.params else ""
        if directive.startswith("SKIP"):
            self.skipped += 1
            word = "skipped: " + directive[4:].strip()
        elif good:
            self.passed += 1
            word = "ok" + detail
        else:
            self.failed += 1
            word = "FAILED" + detail
        print(f"kunit  {self.suite}  {name}  {word}")
        if not good:
            self.print_notes()
        self.params, self.notes = 0, []

    def print_notes(self):
        for note in self.notes[:NOTES]:
            print("    " + note)
        if len(self.notes) > NOTES:
            print(f"    ({len(self.notes) - NOTES} more lines in the log)")

    def end_suite(self, good, name):
        self.seen_suites += 1
        if self.seen < self.plan:
            self.lost(f"{self.suite}: {self.plan - self.seen} of {self.plan} cases gave no result")
        elif not good and not self.failed:
            self.lost(f"{name}: the suite failed outside of its cases")
        self.suite, self.plan, self.seen, self.notes = "?", 0, 0, []

    def lost(self, why):
        self.failed += 1
        print(f"kunit  {why}  FAILED")
        self.print_notes()

    def line(self, text):
        found = RESULT.match(text)
        if found:
            indent, word, name, directive = found.groups()
            if len(indent) == 0:
                self.end_suite(word == "ok", name)
            elif len(indent) == 4:
                self.case(word == "ok", name, directive or "")
            else:
                self.params += 1
                if word != "ok":
                    self.notes.append(text.strip())
        elif text.startswith("    # Subtest: "):
            self.suite = text[len("    # Subtest: "):]
        elif re.match(r"^1\.\.\d+$", text):
            self.plan_suites += int(text[3:])
        elif re.match(r"^    1\.\.\d+$", text):
            self.plan = int(text.strip()[3:])
        elif text.strip() and not re.match(r"^ *(KTAP|# Subtest|# module:|# Totals|\d+\.\.)", text):
            self.notes.append(text.strip())

    def finish(self):
        if self.suite != "?":
            self.lost(f"{self.suite}: ended after {self.seen} of {self.plan} cases")
        elif self.seen_suites < self.plan_suites:
            self.lost(f"{self.plan_suites - self.seen_suites} suites did not run")
        elif not self.plan_suites:
            self.notes = []
            self.lost("no suite ran")


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 2
    report, started = Report(), False
    with open(sys.argv[1], errors="replace") as log:
        for text in log:
            text = STAMP.sub("", text.rstrip("\r\n"))
            started = started or text.startswith("KTAP version")
            if started:
                report.line(text)
    report.finish()
    skipped = f", {report.skipped} skipped" if report.skipped else ""
    print(f"{report.passed} passed, {report.failed} failed{skipped}")
    return 1 if report.failed else 0


sys.exit(main())
