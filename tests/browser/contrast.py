"""Contrast between a page's text and its background (WCAG 2.2, 1.4.3)."""

from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Page

_COLORS = """(selector) => {
    const parse = (color) => color.match(/[\\d.]+/g).map(Number);
    const isOpaque = (color) => color.length === 3 || color[3] === 1;
    const backdrop = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const color = parse(getComputedStyle(each).backgroundColor);
            if (isOpaque(color)) return color;
        }
        return [255, 255, 255];
    };
    const hasText = (element) => [...element.childNodes].some(
        (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    return [...document.querySelectorAll(`${selector} *`)]
        .filter((element) => hasText(element) && element.checkVisibility())
        .map((element) => [parse(getComputedStyle(element).color), backdrop(element)]);
}"""
_LUMINANCE = (0.2126, 0.7152, 0.0722)


def least_contrast(page: Page, selector: str) -> float:
    """Return the smallest contrast of visible text below the selector, from 1 to 21."""
    pairs: Sequence[Any] = page.evaluate(_COLORS, selector)
    return min(contrast(text, behind) for text, behind in pairs)


def contrast(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the contrast of two colors with red, green and blue up to 255."""
    dark, light = sorted([_luminance(first), _luminance(second)])
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Sequence[float]) -> float:
    return sum(
        weight * _linear(part / 255) for weight, part in zip(_LUMINANCE, color[:3], strict=True)
    )


def _linear(part: float) -> float:
    return float(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
