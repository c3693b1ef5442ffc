"""Patterns over relative paths."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.provider.globs import compile_globs


def matches(pattern: str, path: str) -> bool:
    return compile_globs([pattern])(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("a", "a"),
        ("*", "a"),
        ("*", ".a"),
        ("*.conf", "a.conf"),
        ("*.conf", ".conf"),
        ("a?c", "abc"),
        ("a/*/c", "a/b/c"),
        ("**", "a"),
        ("**", "a/b/c"),
        ("**/c", "c"),
        ("**/c", "a/b/c"),
        ("a/**", "a/b"),
        ("a/**", "a/b/c"),
        ("a/**/d", "a/d"),
        ("a/**/d", "a/b/c/d"),
        ("a/**/b/**/c", "a/x/b/y/b/c"),
        ("[abc]", "b"),
        ("[a-c]x", "bx"),
        ("[!a-c]", "d"),
        ("[^a-c]", "d"),
        ("[]]", "]"),
        ("[!]]", "a"),
        ("[a-]", "-"),
        ("[-a]", "-"),
        (r"[\]]", "]"),
        (r"[a\-c]", "-"),
        (r"\*", "*"),
        (r"\[a]", "[a]"),
        ("*a*b", "xaybab"),
        ("*\udcff", "a\udcff"),
        ("a\nb*", "a\nb\nc"),
    ],
)
def test_a_pattern_matches(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*", "a/b"),
        ("a?b", "a/b"),
        ("a[!x]b", "a/b"),
        ("**/c", "a/xc"),
        ("a/**", "a"),
        ("a/**", "ab/c"),
        ("a/**/d", "a/bd"),
        ("?", ""),
        ("a", "A"),
        ("*.conf", "a.conf~"),
        ("[!a-c]", "b"),
        (r"[a\-c]", "b"),
        (r"\*", "a"),
        ("a*a", "a"),
        ("a/*", "a"),
        ("a", "a/b"),
    ],
)
def test_a_pattern_does_not_match(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "empty"),
        ("/a", "starts with /"),
        ("a/", "the name ''"),
        ("a//b", "the name ''"),
        ("./a", "the name '.'"),
        ("../a", "the name '..'"),
        ("a**", "whole names"),
        ("a/***", "whole names"),
        ("[a", "not closed"),
        ("[]", "not closed"),
        ("[!]", "not closed"),
        ("[", "not closed"),
        ("a[/]b", "not closed"),
        ("[[:alpha:]]", "class of characters"),
        ("[c-a]", "c-a is empty"),
        ("a\\", "nothing follows"),
        ("[a\\", "nothing follows"),
        ("a\0", "NUL"),
    ],
)
def test_what_is_no_pattern_is_refused_in_words(pattern: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        compile_globs(["ok", pattern])
    assert words in str(caught.value)


def test_any_of_several_patterns_is_enough_and_none_match_nothing() -> None:
    assert compile_globs(["a", "b"])("b")
    assert not compile_globs([])("a")


# Whatever fnmatch knows too, within one name; it reads neither `\` nor `**`, and brackets otherwise in corners.
@given(st.text("ab*?.", min_size=1).filter(lambda text: "**" not in text), st.text("ab.", min_size=1))
def test_within_a_name_it_agrees_with_fnmatch(pattern: str, name: str) -> None:
    if pattern in {".", ".."}:
        return
    assert matches(pattern, name) is fnmatch.fnmatchcase(name, pattern)


def _slow(pattern: list[str], names: list[str]) -> bool:
    """The meaning, word for word; exponential."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(names)
        return any(_slow(pattern[1:], names[taken:]) for taken in range(len(names) + 1))
    return bool(names) and fnmatch.fnmatchcase(names[0], pattern[0]) and _slow(pattern[1:], names[1:])


@given(
    st.lists(st.sampled_from(["**", "*", "a", "b", "a*"]), min_size=1, max_size=5),
    st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=6),
)
def test_deep_patterns_mean_what_they_say(pattern: list[str], names: list[str]) -> None:
    assert matches("/".join(pattern), "/".join(names)) is _slow(pattern, names)


def test_a_pattern_of_many_stars_is_no_denial_of_service() -> None:
    """A search that tries every way to share out the characters would not end within the life of this machine."""
    assert not matches("*a" * 60 + "b", "a" * 250)
    assert not matches("**/a/" * 60 + "b", "/".join("a" * 250))
