"""One resource on a real directory tree, through the real host room, below a root of its own."""

from pathlib import Path

from datum.host.local import LocalHost
from datum.model.content import Content
from datum.model.observation import Observation, Present, Unobservable
from datum.model.plan import Step
from datum.provider.contract import AnyProvider


def make_root(folder: Path) -> Path:
    """Make what a root needs to tell whose things are, and a place for them."""
    (folder / "etc").mkdir(mode=0o755)
    (folder / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n", encoding="utf-8")
    (folder / "etc/group").write_text("root:x:0:\n", encoding="utf-8")
    (folder / "srv").mkdir(mode=0o755)
    return folder


def no_content(content: Content) -> None:
    raise AssertionError(content)


def see(provider: AnyProvider, host: LocalHost, path: str, desired: object) -> Observation:
    return provider.observe(host.reader(), {path: desired})[path]


def converge(provider: AnyProvider, root: Path, path: str, desired: object) -> Step:
    """Do what is to be done, and see that nothing is left."""
    host = LocalHost(str(root), open_content=no_content)  # type: ignore[arg-type]  # never answers
    try:
        before = see(provider, host, path, desired)
        assert not isinstance(before, Unobservable), before
        step = provider.plan(desired, before)
        assert step is not None
        provider.apply(host.writer(), desired, step)
        after = see(provider, host, path, desired)
        assert isinstance(after, Present)
        assert provider.plan(desired, after) is None
    finally:
        host.close()
    return step
