"""A Dockerfile, read and tried as far as that goes without Docker.

Rules: its files are those of a checkout, copied into a folder that stands for the image; its
commands are run there by hand. What makes the image's user is only read.
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
"""What the instructions that we use take; commands that go on running are lists, so that no shell
stands between Docker and them."""


@dataclass(frozen=True, kw_only=True)
class Instruction:
    line: int
    name: str
    rest: str

    def words(self) -> Sequence[str]:
        """A list of words, as after CMD; ValueError for anything else."""
        words = json.loads(self.rest.partition("CMD ")[2] or self.rest)
        if not all(isinstance(word, str) for word in words):
            raise ValueError(f"{self.name} takes a list of texts")
        return list(words)


@dataclass(frozen=True, kw_only=True)
class Copying:
    """One source of a COPY, from the checkout, and where it goes in the image."""

    source: str
    target: str


def instructions(text: str) -> list[Instruction]:
    """Instructions of a Dockerfile, without comments, with continued lines joined."""
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
    """Instructions that cannot be parsed, and missing files to copy."""
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
    """Each file or folder that is copied from the checkout."""
    for each in found:
        if each.name == "COPY" and not each.rest.startswith("--from="):
            *sources, target = each.rest.split(" ")
            for source in sources:
                name = f"{target}{Path(source).name}" if target.endswith("/") else target
                yield Copying(source=source, target=name)


def copy(found: Sequence[Instruction], checkout: Path, image: Path) -> None:
    """Carry the COPY instructions out, into a folder in place of the image's working one."""
    for each in copyings(found):
        target = image / each.target
        target.parent.mkdir(parents=True, exist_ok=True)
        if (checkout / each.source).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(checkout / each.source, target, ignore=ignored)
        else:
            shutil.copy(checkout / each.source, target)


def variables(found: Sequence[Instruction]) -> Mapping[str, str]:
    """Variables set by ENV."""
    pairs = [word for each in found if each.name == "ENV" for word in each.rest.split()]
    return dict(pair.split("=", 1) for pair in pairs)


def the(found: Sequence[Instruction], name: str) -> Instruction:
    """The last instruction of a name, which is the one that counts."""
    return [each for each in found if each.name == name][-1]
