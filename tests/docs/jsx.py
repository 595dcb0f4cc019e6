"""Compile the JSX of the documentation to JavaScript, and run it with a minimal React.

Rules: an element becomes a call of `createElement`. Attributes are texts or expressions, and a name
in capitals is a component. Text in an element loses line breaks and the blanks around them.
"""

import json
import re

REACT = """
let states = [], effects = [], at = 0;
export const useState = (first) => {
  const place = at++;
  if (!(place in states)) states[place] = first;
  return [states[place], (value) => { states[place] = value; }];
};
export const useEffect = (effect, needs) => {
  const place = at++, last = effects[place];
  if (last && last.needs.every((need, number) => Object.is(need, needs[number]))) return;
  last?.end?.();
  effects[place] = { needs, end: effect() };
};
export const createElement = (type, properties, ...children) => {
  if (typeof type === "function") return type({ ...properties, children });
  return `<${type}>${children.flat(9).join("")}</${type}>`;
};
export const render = (component, properties) => { at = 0; return component(properties); };
export const unmount = () => effects.forEach((each) => each.end?.());
"""
"""The functions of React that the pages use. `render` makes one pass, and `unmount` ends
the effects.
"""

_OPENING = re.compile(r"<(?=[A-Za-z])")
_NAME = re.compile(r"[A-Za-z][\w.]*")
_ATTRIBUTE = re.compile(r"\s*([\w-]+)=")


def as_javascript(text: str) -> str:
    """Return the program with each element as a call. Raises ValueError if an element is
    not closed.
    """
    made, at = "", 0
    while at < len(text):
        if _OPENING.match(text, at):
            element, at = _element(text, at)
            made += element
        else:
            made += text[at]
            at += 1
    return made


def _element(text: str, at: int) -> tuple[str, int]:
    name = _matched(_NAME, text, at + 1)[0]
    at += 1 + len(name)
    attributes: list[str] = []
    while attribute := _ATTRIBUTE.match(text, at):
        value, at = _value(text, attribute.end())
        attributes.append(f"{json.dumps(attribute[1])}: {value}")
    kind = name if name[0].isupper() else json.dumps(name)
    head = f"createElement({kind}, {{ {', '.join(attributes)} }}"
    if end := re.compile(r"\s*/>").match(text, at):
        return f"{head})", end.end()
    at = _matched(re.compile(r"\s*>"), text, at).end()
    children, at = _children(text, at, name)
    return f"{', '.join([head, *children])})", at


def _children(text: str, at: int, name: str) -> tuple[list[str], int]:
    children: list[str] = []
    while not text.startswith("</", at):
        if text.startswith("{", at):
            child, at = _value(text, at)
        elif _OPENING.match(text, at):
            child, at = _element(text, at)
        else:
            words = _matched(re.compile(r"[^<{]+"), text, at)
            at = words.end()
            child = json.dumps(re.sub(r"\s*\n\s*", "", words[0]))
        children.append(child)
    return children, _matched(re.compile(f"</{name}>"), text, at).end()


def _value(text: str, at: int) -> tuple[str, int]:
    """Return a quoted text, or an expression in braces with its elements compiled, and
    the position after the value.
    """
    if quoted := re.compile(r'"[^"]*"').match(text, at):
        return quoted[0], quoted.end()
    depth, end = 0, at
    while True:
        depth += {"{": 1, "}": -1}.get(_matched(re.compile(r".", re.DOTALL), text, end)[0], 0)
        end += 1
        if not depth:
            return as_javascript(text[at + 1 : end - 1]), end


def _matched(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    if found is None:
        raise ValueError(f"{text[at : at + 20]!r} is not {pattern.pattern}")
    return found
