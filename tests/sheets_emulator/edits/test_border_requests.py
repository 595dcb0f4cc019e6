"""Tests of `updateBorders` requests."""

from typing import Any

from tests.sheets_emulator.bench import Bench
from tests.sheets_emulator.cells_of import cells
from tests.sheets_emulator.requests_of import Request, grid_range

SOLID = {"style": "SOLID"}
SHOWN = {"style": "SOLID", "width": 1, "color": {}, "colorStyle": {"rgbColor": {}}}


def borders(bench: Bench) -> list[list[Any]]:
    """Return the initials (b, l, r, t) of each cell's bordered sides, by row."""
    rows = cells(bench, fields="userEnteredFormat.borders")
    return [
        [
            "".join(sorted(side[0] for side in cell["userEnteredFormat"]["borders"]))
            if cell
            else ""
            for cell in row
        ]
        for row in rows
    ]


def edit(bench: Bench, **sides: Request) -> None:
    """Send an `updateBorders` request for A1:C2 with these sides."""
    bench.edit({"updateBorders": {"range": grid_range(0, 0, 2, 3), **sides}})


def test_outer_borders_are_on_the_cells_at_the_edge(bench: Bench) -> None:
    """Top, bottom, left and right borders of a range are set on its outermost cells only."""
    edit(bench, top=SOLID, bottom=SOLID, left=SOLID, right=SOLID)
    first = cells(bench, fields="userEnteredFormat")[0][0]["userEnteredFormat"]

    assert borders(bench) == [["lt", "t", "rt"], ["bl", "b", "br"]]
    assert first == {"borders": {"top": SHOWN, "left": SHOWN}}


def test_inner_borders_are_on_both_cells(bench: Bench) -> None:
    """An inner border is set on the facing sides of both neighbouring cells."""
    edit(bench, innerVertical=SOLID)
    vertical = borders(bench)
    edit(bench, innerVertical={"style": "NONE"}, innerHorizontal=SOLID)

    assert vertical == [["r", "lr", "l"]] * 2
    assert borders(bench) == [["b"] * 3, ["t"] * 3]


def test_an_omitted_border_stays(bench: Bench) -> None:
    """A request changes only its own sides, as in Google's example. `NONE` removes a border."""
    edit(bench, top=SOLID, bottom=SOLID)
    edit(bench, left={"style": "DOUBLE", "color": {"red": 1}}, bottom={"style": "NONE"})
    left = cells(bench, fields="userEnteredFormat")[1][0]["userEnteredFormat"]["borders"]["left"]

    assert borders(bench) == [["lt", "t", "t"], ["l"]]
    assert left == {
        "style": "DOUBLE",
        "width": 3,
        "color": {"red": 1},
        "colorStyle": {"rgbColor": {"red": 1}},
    }


def test_lone_cell_has_no_inner_borders(bench: Bench) -> None:
    """`innerVertical` and `innerHorizontal` have no effect on a range of one cell."""
    sides = {"innerVertical": SOLID, "innerHorizontal": SOLID}
    bench.edit({"updateBorders": {"range": grid_range(2, 2, 3, 3), **sides}})

    assert borders(bench) == []
