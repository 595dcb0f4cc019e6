"""Developer metadata: keys and values of programs at a spreadsheet, worksheet, row or column."""

from dataclasses import dataclass

from sheets_emulator.grid.a1 import WHOLE, Span

DOCUMENT = "DOCUMENT"


@dataclass(frozen=True, kw_only=True)
class DeveloperMetadata:
    """An item of metadata.

    `span` is its row or column, and moves with it; without bounds the item belongs to the whole
    worksheet or spreadsheet. `project` is the developer project that created it, `visibility` is
    Google's: `DOCUMENT` or `PROJECT`.
    """

    metadata_id: int
    key: str
    visibility: str
    project: str
    value: str | None = None
    span: Span = WHOLE

    @property
    def size(self) -> int:
        """The characters that count towards Google's limit."""
        return len(self.key) + len(self.value or "")

    def is_visible_to(self, project: str) -> bool:
        return self.visibility == DOCUMENT or self.project == project


def project_of(account: str) -> str:
    """The developer project of a service account's e-mail address; "" for the owner."""
    return account.rpartition("@")[2].partition(".")[0]
