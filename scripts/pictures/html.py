"""The little of HTML that reports need. What is not marked as HTML is text, and is escaped."""

from html import escape
from typing import Final

from scripts.pictures.svg import clean

__all__ = ["Html", "document", "tag"]

_ALONE: Final = frozenset({"br", "meta"})


class Html(str):
    """A piece of a page that is written already."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str) -> Html:
    """Return an element. ``class_`` stands for ``class``; an empty attribute is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(clean(value))}"'
        for key, value in attributes.items()
        if value
    )
    if name in _ALONE:
        return Html(f"<{name}{given}>")
    inside = "".join(
        child if isinstance(child, Html) else escape(clean(child), quote=False)
        for child in children
    )
    return Html(f"<{name}{given}>{inside}</{name}>")


def document(title: str, style: str, *body: str) -> str:
    """Return a page that stands alone: it may load nothing and run nothing."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(style)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', *body), lang='en')}\n"
