"""Parts of the document: JSON nodes, and references to components."""

from collections.abc import Mapping, Sequence

Node = Mapping[str, object]
"""A JSON object of the document."""

Nodes = Mapping[str, Node]


def reference(kind: str, name: str) -> Node:
    """A reference to a component, whose name needs no escaping."""
    return {"$ref": f"#/components/{kind}/{name}"}


def schema_reference(name: str) -> Node:
    return reference("schemas", name)


def json_content(schema: Node, **more: object) -> Node:
    return {"application/json": {"schema": schema, **more}}


def named(names: Sequence[str]) -> str:
    """Names as running text."""
    return ", ".join(f"`{name}`" for name in names)
