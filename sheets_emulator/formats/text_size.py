"""Estimated size of texts in pixels, for autoResizeDimensions.

Google measures the text as a browser renders it. The emulator adds the advance widths of a
sans-serif font with 2048 units per em at 13 pixels, plus a margin. For example, a cell of 1,024 `A`
needs 8,691 pixels (recorded from Google). The font of the cell is ignored.
"""

UNITS = 2048
FONT_PIXELS = 13
MARGIN = 7
LINE_PIXELS = 17  # added to the row height for each further line of a text
FIRST_LINE_PIXELS = 21
USUAL_WIDTH = 1150  # of characters that are missing in WIDTHS, such as digits
WIDTHS = {
    **dict(
        zip(
            "ABCDEFGHIJKLM",
            (1336, 1275, 1333, 1344, 1164, 1132, 1395, 1460, 557, 1130, 1284, 1102, 1788),
            strict=True,
        )
    ),
    **dict(
        zip(
            "NOPQRSTUVWXYZ",
            (1460, 1408, 1292, 1408, 1261, 1215, 1222, 1328, 1303, 1817, 1284, 1230, 1226),
            strict=True,
        )
    ),
    **dict(
        zip(
            "abcdefghijklm",
            (1114, 1149, 1072, 1155, 1085, 711, 1149, 1128, 497, 489, 1038, 497, 1795),
            strict=True,
        )
    ),
    **dict(
        zip(
            "nopqrstuvwxyz",
            (1130, 1168, 1149, 1164, 693, 1056, 669, 1129, 992, 1538, 1015, 969, 1015),
            strict=True,
        )
    ),
    " ": 507,
}


def text_width(text: str) -> int:
    """Return the column width in pixels for the longest line of a text."""
    return max(_width(line) for line in text.split("\n"))


def text_height(text: str) -> int:
    """Return the row height in pixels for a text."""
    return FIRST_LINE_PIXELS + LINE_PIXELS * text.count("\n")


def _width(line: str) -> int:
    units = sum(WIDTHS.get(char, USUAL_WIDTH) for char in line)
    return round(units * FONT_PIXELS / UNITS) + MARGIN
