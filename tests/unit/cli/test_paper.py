"""Lines that come from hosts and repositories, on a terminal and in a file."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.cli.views.paper import Paper, clean, print_json
from tests.unit.cli.screen import Terminal, coloured, is_harmless, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本 ✓ 👍", "plain é 日本 ✓ 👍"),
        ("\x1b[31mred\x1b[0m\x07", "\\x1b[31mred\\x1b[0m\\x07"),
        ("a\rb\nc\x00\x7f", "a\\x0db\\x0ac\\x00\\x7f"),
        ("\x9b31m\x85", "\\x9b31m\\x85"),
        ("tab\tstays", "tab\tstays"),
        ("abc\u202egnp.exe", "abc\\u202egnp.exe"),
        ("zero\u200bwidth\u2028", "zero\\u200bwidth\\u2028"),
        ("no\xa0break", "no\\xa0break"),
        ("\u3000wide", "\u3000wide"),
        ("\udcff\ud800", "\\udcff\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_made_visible(text: str, shown: str) -> None:
    """Everything else stays as it is."""
    assert clean(text) == shown


@given(st.text())
def test_cleaned_text_is_harmless_and_can_be_written(text: str) -> None:
    """Whatever a file or a name holds; and cleaning twice changes nothing."""
    shown = clean(text)
    assert is_harmless(shown)
    assert "\n" not in shown
    shown.encode()
    assert clean(shown) == shown


def paper_of(*pieces: str | tuple[str, str]) -> Paper:
    paper = Paper()
    paper.line(*pieces)
    return paper


def test_no_colour_without_a_terminal() -> None:
    """Styles are left out, and spaces at the end with them."""
    assert plain(paper_of(("bold", "bold"), " text ", ("", "dim"))) == "bold text\n"


def test_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own escape sequences, and nobody else's."""
    coloured(monkeypatch)
    screen = Terminal()
    paper_of(("good", "green"), " [bold]no markup[/bold] :smile: \x1b[2J").print_to(screen)
    assert screen.getvalue() == "\x1b[32mgood\x1b[0m [bold]no markup[/bold] :smile: \\x1b[2J\n"


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    """As https://no-color.org asks."""
    coloured(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Terminal()
    paper_of(("good", "green")).print_to(screen)
    assert "\x1b[32m" not in screen.getvalue()


def test_long_lines_are_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """They can be copied from a narrow terminal."""
    coloured(monkeypatch)
    monkeypatch.setenv("COLUMNS", "20")
    screen = Terminal()
    paper_of("x" * 100).print_to(screen)
    assert screen.getvalue() == "x" * 100 + "\n"


def test_blank_paper_writes_nothing() -> None:
    """Not even an empty line."""
    assert Paper().is_blank
    assert plain(Paper()) == ""


def test_a_paper_goes_behind_a_margin() -> None:
    """Line by line."""
    inner = paper_of("a")
    inner.line("b")
    outer = Paper()
    outer.indent(inner, "  ")
    assert plain(outer) == "  a\n  b\n"


def test_json_is_ascii_and_sorted(capsys: pytest.CaptureFixture[str]) -> None:
    """So that no locale and no terminal matters."""
    print_json({"b": "\x1b[31m é \udcff", "a": (1, {"c": None})})
    out = capsys.readouterr().out
    assert out.isascii()
    assert is_harmless(out)
    assert out.endswith("}\n")
    assert json.loads(out) == {"a": [1, {"c": None}], "b": "\x1b[31m é \udcff"}
    assert list(json.loads(out)) == ["a", "b"]


def test_stream_that_is_no_terminal_is_asked_once() -> None:
    """A file gets its bytes without rich being loaded."""
    stream = io.StringIO()
    paper_of("x").print_to(stream)
    assert stream.getvalue() == "x\n"
