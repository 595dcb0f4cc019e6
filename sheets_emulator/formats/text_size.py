"""How many pixels a text takes in a cell: an estimate for autoResizeDimensions.

Rules
- Google measures the text as a browser draws it. Here it is the advance widths of a sans-serif
  font of 2048 units to the em, drawn at 13 pixels, and a margin: a cell of 1,024 `A` then needs
  8,691 pixels (recorded). The font of a cell's format is not looked at.
"""

UNITS = 2048
FONT_PIXELS = 13
MARGIN = 7
LINE_PIXELS = 17  # what each line of a text but the first adds to a row
FIRST_LINE_PIXELS = 21
USUAL_WIDTH = 1150  # of characters that have no width below; digits have it
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
    """The pixels of the column that shows the text, its longest line."""
    return max(_width(line) for line in text.split("\n"))


def text_height(text: str) -> int:
    """The pixels of the row that shows the text."""
    return FIRST_LINE_PIXELS + LINE_PIXELS * text.count("\n")


def _width(line: str) -> int:
    units = sum(WIDTHS.get(char, USUAL_WIDTH) for char in line)
    return round(units * FONT_PIXELS / UNITS) + MARGIN
