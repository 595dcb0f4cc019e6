"""batchUpdate: size, visibility and groups of rows and columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sheets_emulator.formats.text_size import text_height, text_width
from sheets_emulator.formulas.display import displayed
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.grid.line_groups import deepened, folded, groups_of, raised
from sheets_emulator.grid.marks import PLAIN_LINE, Line
from sheets_emulator.protocol.fields import update_paths
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid, unimplemented
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import (
    Editing,
    Lines,
    read_lines,
    require_existing,
    require_fields,
)
from sheets_emulator.resources.mark_data import describe_groups
from sheets_emulator.resources.places import require_unprotected

CONTROLS = {True: "rowGroupControlAfter", False: "columnGroupControlAfter"}

Setter = Callable[[Line, Message], Line]


def update_dimension_properties(editing: Editing, message: Message) -> Reply:
    """updateDimensionProperties: set the size in pixels and the visibility of rows or columns."""
    message.require_implemented(("range", "properties", "fields"))
    properties = message.message("properties")
    if properties.has("developerMetadata"):
        raise unimplemented("developerMetadata in updateDimensionProperties")
    lines = _writable(editing, message.message("range"), "update")
    paths = update_paths(require_fields(message), "DimensionProperties")
    setters = [SETTERS[path] for path in paths if path in SETTERS]
    kept = lines.sheet.lines(is_rows=lines.is_rows)
    if "hiddenByUser" in paths and properties.flag("hiddenByUser"):
        _require_shown(lines, kept)
    made: dict[Line, Line] = {}  # equal rows or columns share one object
    for index in range(lines.start, lines.end):
        line = kept.get(index, PLAIN_LINE)
        if line not in made:
            made[line] = _set(line, setters, properties)
        kept[index] = made[line]
    _keep(lines, kept)
    return {}


def auto_resize_dimensions(editing: Editing, message: Message) -> Reply:
    """autoResizeDimensions: fit columns to their widest text, and rows to their highest text.

    Columns without text keep their width.
    """
    message.require_implemented(("dimensions",))
    lines = _writable(editing, message.message("dimensions"), "resize")
    kept = lines.sheet.lines(is_rows=lines.is_rows)
    sizes = _needed_sizes(editing, lines)
    for index in range(lines.start, lines.end):
        pixels = sizes.get(index)
        if lines.is_rows or pixels is not None:
            kept[index] = replace(kept.get(index, PLAIN_LINE), pixels=pixels)
    _keep(lines, kept)
    return {}


def add_dimension_group(editing: Editing, message: Message) -> Reply:
    """addDimensionGroup: add a group.

    The reply has all groups of this dimension (recorded from Google).
    """
    lines = _writable(editing, message.message("range"), "group")
    kept = lines.sheet.lines(is_rows=lines.is_rows)
    _keep(lines, deepened(kept, range(lines.start, lines.end)))
    options = {**lines.sheet.options, CONTROLS[lines.is_rows]: True}  # recorded; never unset
    lines.sheet.options = options
    return _groups_reply("addDimensionGroup", lines)


def delete_dimension_group(editing: Editing, message: Message) -> Reply:
    """deleteDimensionGroup: reduce the group depth of the rows or columns by one."""
    lines = _writable(editing, message.message("range"), "ungroup")
    kept = lines.sheet.lines(is_rows=lines.is_rows)
    indexes = range(lines.start, lines.end)
    if not any(kept.get(index, PLAIN_LINE).depth for index in indexes):
        raise invalid("There is no dimension group over the given range.")
    _keep(lines, raised(kept, indexes))
    return _groups_reply("deleteDimensionGroup", lines)


def update_dimension_group(editing: Editing, message: Message) -> Reply:
    """updateDimensionGroup: collapse or expand the group with this range and depth."""
    wanted = message.message("dimensionGroup")
    lines = _writable(editing, wanted.message("range"), "update")
    depth = wanted.integer("depth")
    paths = update_paths(require_fields(message), "DimensionGroup")
    kept = lines.sheet.lines(is_rows=lines.is_rows)
    place = (lines.start, lines.end, depth)
    for group in groups_of(kept):
        if (group.start, group.end, group.depth) == place:
            if "collapsed" in paths:
                _keep(lines, folded(kept, group, is_collapsed=wanted.flag("collapsed")))
            return {}
    raise invalid(f"There is no dimension group of depth {depth} over the given range.")


def _writable(editing: Editing, message: Message, verb: str) -> Lines:
    """Parse a DimensionRange of existing rows or columns. `verb` is for the error text."""
    lines = read_lines(editing.workbook, message)
    require_existing(lines, verb)
    require_unprotected(lines.sheet, lines.box(lines.start, lines.end), editing.account)
    return lines


def _keep(lines: Lines, kept: Mapping[int, Line]) -> None:
    changed = {index: line for index, line in kept.items() if line != PLAIN_LINE}
    if lines.is_rows:
        lines.sheet.row_lines = changed
    else:
        lines.sheet.column_lines = changed
    if len(changed) >= lines.existing:
        _require_some(lines, sum(line.is_hidden for line in changed.values()))


def _require_shown(lines: Lines, kept: Mapping[int, Line]) -> None:
    """Raise a 400 if hiding `lines` would leave no visible row or column."""
    hidden = (index for index, line in kept.items() if line.is_hidden)
    outside = sum(not lines.start <= index < lines.end for index in hidden)
    _require_some(lines, outside + lines.count)


def _require_some(lines: Lines, hidden: int) -> None:
    if hidden >= lines.existing:
        raise invalid(f"You can't hide all the {lines.name}s.")


def _set(line: Line, setters: Sequence[Setter], properties: Message) -> Line:
    for setter in setters:
        line = setter(line, properties)
    return line


def _groups_reply(kind: str, lines: Lines) -> Reply:
    groups = describe_groups(lines.sheet, is_rows=lines.is_rows)
    return {kind: {"dimensionGroups": groups} if groups else {}}


def _needed_sizes(editing: Editing, lines: Lines) -> dict[int, int]:
    """Return the size in pixels that content needs, by index of the row or column."""
    sheet, results = lines.sheet, Results(editing.workbook)
    box = lines.box(lines.start, lines.end)
    sizes: dict[int, int] = {}
    for row, contents in enumerate(sheet.read(box), start=box.top):
        for column, _ in enumerate(contents, start=box.left):
            text = displayed(results.of(sheet, row, column))
            if text:
                line = row if lines.is_rows else column
                needed = text_height(text) if lines.is_rows else text_width(text)
                sizes[line] = max(sizes.get(line, 0), needed)
    return sizes


def _set_pixels(line: Line, properties: Message) -> Line:
    pixels = properties.integer("pixelSize")
    if pixels < 0:
        raise invalid(f"pixelSize[{pixels}] must be >= 0.")
    return replace(line, pixels=pixels or None)


def _set_hidden(line: Line, properties: Message) -> Line:
    return replace(line, is_hidden=properties.flag("hiddenByUser"))


SETTERS: dict[str, Setter] = {"pixelSize": _set_pixels, "hiddenByUser": _set_hidden}
