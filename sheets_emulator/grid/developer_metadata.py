"""Developer metadata: keys and values that programs attach to parts of a spreadsheet."""

from dataclasses import dataclass

from sheets_emulator.grid.a1 import WHOLE, Span

DOCUMENT = "DOCUMENT"


@dataclass(frozen=True, kw_only=True)
class DeveloperMetadata:
    """An item of metadata.

    `span` is the row or column of the item, and moves with the cells. A `span` without bounds is
    the whole worksheet or spreadsheet. `project` is the developer project that created the item.
    `visibility` is Google's `DOCUMENT` or `PROJECT`.
    """

    metadata_id: int
    key: str
    visibility: str
    project: str
    value: str | None = None
    span: Span = WHOLE

    @property
    def size(self) -> int:
        """Number of characters that count towards Google's limit."""
        return len(self.key) + len(self.value or "")

    def is_visible_to(self, project: str) -> bool:
        return self.visibility == DOCUMENT or self.project == project


def project_of(account: str) -> str:
    """Return the developer project of a service account's e-mail address, or "" for the owner."""
    return account.rpartition("@")[2].partition(".")[0]
