# SPDX-License-Identifier: GPL-2.0
"""Finds the names that the driver's headers define, the folders that use them, and the includes."""
import collections
import os
import re

import generated

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
INCLUDE = re.compile(r'^#include [<"]([\w/]+\.h)[>"]', re.M)
SHARED = "include/rxe/"

# Header of include/rxe/ -> the folder whose interface it is. Other headers are for all folders
HOMES = {
    "constants.h": "config", "knobs.h": "config", "join.h": "net", "mcast.h": "verbs",
    "mem.h": "mem", "net.h": "net", "odp.h": "mem", "opcode.h": "wire", "path.h": "net",
    "psn.h": "wire", "qp.h": "qp", "ring.h": "ring", "service.h": "transport", "srq.h": "verbs",
    "stats.h": "stats", "train.h": "net", "transport.h": "transport", "verbs.h": "verbs",
    "window.h": "mem", "wire.h": "wire", "wr.h": "ring",
}


def home_of(path):
    """The folder of the driver that a file belongs to; None: the file is for all folders"""
    if path.startswith(SHARED):
        return HOMES.get(os.path.basename(path))
    return os.path.dirname(path.removeprefix("drivers/rxe/")) or "rxe"


def read_code(path):
    return COMMENT.sub("", generated.read(path))


def read_words(path):
    return set(re.findall(r"\w+", read_code(path)))


def split_header(text):
    """Declarations and macros at the top level, but no forward declarations"""
    part, depth, lines = "", 0, iter(text.split("\n"))
    for line in lines:
        if not part.strip() and line.startswith("#"):
            while line.endswith("\\"):
                line += "\n" + next(lines)
            if line.startswith("#define"):
                yield line
            continue
        part += line + "\n"
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
        if depth == 0 and (line.rstrip().endswith(";") or line.startswith("}")):
            if not re.fullmatch(r"(struct|enum|union) \w+;", part.strip()):
                yield part.strip()
            part = ""


def names_defined(part):
    """Names that a declaration or macro defines, its own first"""
    patterns = (r"#define (\w+)", r"(?:struct|union) (\w+) \{", r"extern [^;]*?\b(\w+)(?:\[[^;]*)?;",
                r"[^({=;]*?\b(\w+)\(")
    if found := re.match(r"enum (\w+ )?\{(.*)\}", part, re.S):
        names = [found[1].strip()] if found[1] else []
        return names + re.findall(r"^\s*(\w+)\s*(?:=[^,]*)?,?$", found[2], re.M)
    if found := re.match(r"typedef .*?\(\*(\w+)\)", part, re.S):
        return [found[1]]
    return next(([found[1]] for p in patterns if (found := re.match(p, part, re.S))), [])


def guard_of(path):
    return f"RXE_{os.path.basename(path)[:-2].upper()}_H"


def count_users():
    """Name -> folders of the driver that use it. include/compat/ counts as the folder rxe"""
    users = collections.defaultdict(set)
    for path in generated.sources(["drivers/rxe", "include/compat"], (".c", ".h")):
        folder = "rxe" if path.startswith("include/") else home_of(path)
        for word in read_words(path):
            users[word].add(folder)
    return users


def find_private(users=None):
    """(header of SHARED, folder, name) of each name that only the header's own folder uses"""
    users, parts = users or count_users(), []
    for path in generated.sources([SHARED], ".h"):
        for part in split_header(read_code(path)):
            names = names_defined(part)
            if names[:1] != [guard_of(path)]:
                folders = set().union(*(users[name] for name in names), {home_of(path)}) - {None}
                parts.append((path, names, set(re.findall(r"\w+", part)) - set(names), folders))
    # A name that a shared declaration needs is shared, too
    shared = [part for part in parts if len(part[3]) > 1 or not part[1]]
    private = [part for part in parts if part not in shared]
    while shared:
        needed = set().union(*(words for _, _, words, _ in shared))
        shared = [part for part in private if needed & set(part[1])]
        private = [part for part in private if part not in shared]
    for path, names, _, folders in private:
        yield path, "".join(folders) or "nobody", names[0]


def find_includes():
    """(file, header of the driver that it includes)"""
    files = list(generated.sources(["drivers/rxe", "include/rxe"], (".c", ".h")))
    for path in files:
        for name in INCLUDE.findall(generated.read(path)):
            for where in (os.path.dirname(path), "include", "drivers/rxe"):
                if os.path.join(where, name) in files:
                    yield path, os.path.join(where, name)
                    break
