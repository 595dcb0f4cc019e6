"""Parser and checks of a Dockerfile, without Docker.

Rules: COPY instructions copy files of the checkout to a folder in the role of the image. Tests run
the commands in that folder. The instruction that creates the image's user is parsed but not run.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

INSTRUCTIONS: Mapping[str, re.Pattern[str]] = {
    "ARG": re.compile(r"BASE=python:3\.(1[1-9])[\w.-]*"),
    "FROM": re.compile(r"\$\{BASE\}( AS [a-z]+)?"),
    "RUN": re.compile(r".+"),
    "WORKDIR": re.compile(r"/\S+"),
    "COPY": re.compile(r"(--from=[a-z]+ /|(?!/))[^\s\[]+( [^\s\[]+)+"),
    "USER": re.compile(r"[a-z][a-z0-9-]*"),
    "VOLUME": re.compile(r"/\S+"),
    "ENV": re.compile(r"([A-Z_]+=\S+\s*)+"),
    "EXPOSE": re.compile(r"[0-9]+"),
    "STOPSIGNAL": re.compile(r"SIG[A-Z]+"),
    "HEALTHCHECK": re.compile(r'(--[a-z-]+=[0-9]+s? )+CMD \[".+"\]'),
    "ENTRYPOINT": re.compile(r'\[".+"\]'),
    "CMD": re.compile(r'\[".+"\]'),
}
"""Pattern of the arguments of each instruction in use. Commands of long-running processes
must be lists, so that Docker starts them without a shell.
"""


@dataclass(frozen=True, kw_only=True)
class Instruction:
    line: int
    name: str
    rest: str

    def words(self) -> Sequence[str]:
        """Return the list of words of an instruction such as CMD. Raises ValueError for
        the shell form.
        """
        words = json.loads(self.rest.partition("CMD ")[2] or self.rest)
        if not all(isinstance(word, str) for word in words):
            raise ValueError(f"{self.name} takes a list of texts")
        return list(words)


@dataclass(frozen=True, kw_only=True)
class Copying:
    """One source of a COPY from the checkout, and its target path in the image."""

    source: str
    target: str


def instructions(text: str) -> list[Instruction]:
    """Parse the instructions of a Dockerfile without comments, and join continued lines."""
    found: list[Instruction] = []
    first, said = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not said and (not line.strip() or line.startswith("#")):
            continue
        first = first or number
        said += line.removesuffix("\\")
        if not line.endswith("\\"):
            name, _, rest = said.partition(" ")
            found.append(Instruction(line=first, name=name, rest=rest.strip()))
            first, said = 0, ""
    return found


def problems(found: Sequence[Instruction], checkout: Path) -> list[str]:
    """Return invalid instructions, and files to copy that do not exist."""
    wrong = [
        f"{each.line}: {each.name} {each.rest}"
        for each in found
        if each.name not in INSTRUCTIONS or not INSTRUCTIONS[each.name].fullmatch(each.rest)
    ]
    missing = [
        f"there is no {each.source}"
        for each in copyings(found)
        if not (checkout / each.source).exists()
    ]
    order = [] if [each.name for each in found[:2]] == ["ARG", "FROM"] else ["FROM comes first"]
    return wrong + missing + order


def copyings(found: Sequence[Instruction]) -> Iterator[Copying]:
    """Yield each file or folder that COPY copies from the checkout."""
    for each in found:
        if each.name == "COPY" and not each.rest.startswith("--from="):
            *sources, target = each.rest.split(" ")
            for source in sources:
                name = f"{target}{Path(source).name}" if target.endswith("/") else target
                yield Copying(source=source, target=name)


def copy(found: Sequence[Instruction], checkout: Path, image: Path) -> None:
    """Copy the files of all COPY instructions to a folder in the role of the image's
    working directory.
    """
    for each in copyings(found):
        target = image / each.target
        target.parent.mkdir(parents=True, exist_ok=True)
        if (checkout / each.source).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(checkout / each.source, target, ignore=ignored)
        else:
            shutil.copy(checkout / each.source, target)


def variables(found: Sequence[Instruction]) -> Mapping[str, str]:
    """Return the variables set by ENV."""
    pairs = [word for each in found if each.name == "ENV" for word in each.rest.split()]
    return dict(pair.split("=", 1) for pair in pairs)


def the(found: Sequence[Instruction], name: str) -> Instruction:
    """Return the last instruction with a name, which Docker uses."""
    return [each for each in found if each.name == name][-1]
