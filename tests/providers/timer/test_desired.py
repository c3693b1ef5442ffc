"""What a declaration of a timer means, how it stands in unit files, and what can be read back."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.model.observation import FieldValue, NotApplicable, Present
from datum.model.plan import Operation, Step
from datum.model.secret import Secret
from datum.provider.contract import DesiredError, ImplicitEdge, OrderedProvider, Removal, Stage
from datum_providers.timer.desired import DesiredTimer
from datum_providers.timer.provider import TimerProvider
from datum_providers.timer.reading import declared_by
from tests.providers.index import index_of

PROVIDER: Final = TimerProvider()
JOB: Final[dict[str, AttributeValue]] = {"on_calendar": ("daily",), "argv": ("/bin/true",)}


def parse(**attributes: AttributeValue) -> DesiredTimer:
    return PROVIDER.parse("job", attributes)


def texts(desired: DesiredTimer) -> tuple[str, str]:
    assert desired.timer is not None
    assert desired.service is not None
    return (desired.timer.inline or b"").decode(), (desired.service.inline or b"").decode()


def test_every_field_has_its_line() -> None:
    timer, service = texts(
        parse(
            on_calendar=("Mon *-*-*  04:30", "daily"),
            on_boot=90,
            on_unit_active=0.5,
            persistent=True,
            randomized_delay=1e7,
            accuracy=1.0,
            argv=("tar", "-cf", "/srv/100%\n"),
            user="app%",
            environment={"B": "$x \\", "A": ""},
            working_directory="/srv/a b%",
            description="100% of it",
        )
    )
    assert timer.splitlines() == [
        "[Unit]",
        "Description=100%% of it",
        "",
        "[Timer]",
        "OnCalendar=Mon *-*-* 04:30",
        "OnCalendar=daily",
        "OnBootSec=90s",
        "OnUnitActiveSec=500000us",
        "RandomizedDelaySec=10000000s",
        "AccuracySec=1s",
        "Persistent=yes",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]
    assert service.splitlines()[3:] == [
        "[Service]",
        "Type=oneshot",
        'ExecStart=:"tar" "-cf" "/srv/100%%\\n"',
        "User=app%%",
        "WorkingDirectory=/srv/a b%%",
        'Environment="A="',
        'Environment="B=$x \\\\"',
    ]


@pytest.mark.parametrize(
    ("attributes", "attribute", "words"),
    [
        ({"argv": ("/bin/true",)}, "argv", "nothing says when"),
        ({"argv": ("/bin/true",), "on_unit_active": 5}, "on_unit_active", "when the first one is"),
        ({"on_boot": 5}, "argv", "no program"),
        ({**JOB, "on_boot": 0}, "on_boot", "no number of seconds"),
        ({**JOB, "accuracy": 1e12}, "accuracy", "no number of seconds"),
        ({**JOB, "on_calendar": ("a\nb",)}, "on_calendar", "one line"),
        ({**JOB, "on_calendar": (Secret(b"x"),)}, "on_calendar", "everybody"),
        ({"argv": ("x",), "on_boot": 5, "persistent": True}, "persistent", "missed"),
        ({**JOB, "persistent": 1}, "persistent", "true or false"),
        ({**JOB, "running": "yes"}, "running", "true or false"),
        ({**JOB, "argv": ("-x",)}, "argv", "by that name"),
        ({**JOB, "argv": ("/bin/$x",)}, "argv", "by that name"),
        ({**JOB, "argv": ("./x",)}, "argv", "is relative"),
        ({**JOB, "argv": (Secret(b"x"),)}, "argv", "secret"),
        ({**JOB, "user": "a b"}, "user", "neither a name"),
        ({**JOB, "working_directory": "srv"}, "working_directory", "is relative"),
        ({**JOB, "working_directory": "/srv\n"}, "working_directory", "unit file"),
        ({**JOB, "description": "a\\"}, "description", "neither begins"),
        ({**JOB, "description": " a"}, "description", "neither begins"),
        ({**JOB, "environment": {"A": 1}}, "environment", "no text"),
    ],
)
def test_what_cannot_be_meant_is_refused(attributes: dict[str, AttributeValue], attribute: str, words: str) -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.parse("job", attributes)
    assert (caught.value.attribute, words in caught.value.detail) == (attribute, True), caught.value.detail
    assert caught.value.detail.endswith(".")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("job.timer", "Write timer:job"),
        ("job.service", "Write timer:job"),
        ("job@", "a template takes unit: and service:"),
        ("job@x.timer", "a template takes unit: and service:"),
        ("a b", ""),
        ("datum", "`datum init` sets it up"),
    ],
)
def test_a_name_is_that_of_both_units(name: str, hint: str) -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.normal_name(name)
    assert caught.value.hint == hint
    assert PROVIDER.normal_name("a.b-c") == "a.b-c"


def test_it_holds_both_files_and_the_state_of_the_timer() -> None:
    assert [str(target) for target in PROVIDER.targets(parse(**JOB))] == [
        "path /etc/systemd/system/job.timer",
        "path /etc/systemd/system/job.service",
        "unit_state job.timer",
    ]
    assert isinstance(PROVIDER, OrderedProvider)
    assert PROVIDER.order_stage is Stage.SERVICES
    assert PROVIDER.removal(parse(**JOB)) is Removal.DELETE
    assert PROVIDER.effects(parse(**JOB), Step(Operation.DELETE, ())) == ()


def test_what_its_service_needs_comes_first() -> None:
    index = index_of(
        {
            "user app": "user:app",
            "path /srv/run": "file:/srv/run",
            "path /srv": "directory:/srv",
            "user root": "user:root",
        }
    )
    edges = PROVIDER.edges(parse(on_boot=5, argv=("/srv/run",), user="app", working_directory="/srv"), index)
    assert edges == (
        ImplicitEdge(ResourceId("user", "app"), "user"),
        ImplicitEdge(ResourceId("file", "/srv/run"), "program"),
        ImplicitEdge(ResourceId("directory", "/srv"), "working directory"),
    )
    assert PROVIDER.edges(parse(on_boot=5, argv=("run",), user="root"), index) == ()


def test_what_it_makes_is_two_paths_and_two_units() -> None:
    step = PROVIDER.plan(parse(**JOB), Present({"kind": "none", "service_kind": "none"}))
    assert step is not None
    found = [str(effect.target) for effect in PROVIDER.effects(parse(**JOB), step)]
    folder = "path /etc/systemd/system"
    assert found == [f"{folder}/job.timer", "unit job.timer", f"{folder}/job.service", "unit job.service"]
    assert Target("unit", "job.timer") in [effect.target for effect in PROVIDER.effects(parse(**JOB), step)]


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
LINES = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="\\"), min_size=1, max_size=8
)


@given(
    st.lists(WORDS, max_size=3),
    st.dictionaries(st.from_regex(r"[A-Z]{1,3}", fullmatch=True), WORDS, max_size=2),
    st.none() | st.integers(1, 10**6) | st.integers(1, 10**6).map(lambda number: number / 1000),
    LINES,
)
def test_what_is_written_is_read_back(
    words: list[str], environment: dict[str, str], seconds: float | None, line: str
) -> None:
    """And written anew it is the same text."""
    attributes: dict[str, AttributeValue] = {
        **JOB, "argv": ("/bin/true", *words), "environment": environment, "accuracy": seconds, "description": line,
    }  # fmt: skip
    desired = PROVIDER.parse("job", attributes)
    found = declared_by("job", *texts(desired))
    assert found
    assert PROVIDER.parse("job", found) == desired


@pytest.mark.parametrize("running", [True, NotApplicable("no-manager")])
def test_a_pair_as_it_is_written_is_adopted(running: bool | NotApplicable) -> None:
    timer, service = texts(parse(**JOB))
    fields: dict[str, FieldValue] = {"kind": "regular", "enabled": True, "running": running}
    seen = Present(fields, {"timer": timer, "service": service})
    assert PROVIDER.adopt("job", seen) == JOB


def test_a_pair_that_says_more_is_not_adopted() -> None:
    timer, service = texts(parse(**JOB))
    for seen in (
        Present({"kind": "regular", "enabled": True}, {"timer": timer, "service": service + "Nice=3\n"}),
        Present({"kind": "regular", "enabled": True}, {"timer": timer}),
        Present({"kind": "regular", "enabled": True}, {"timer": "", "service": ""}),
        Present({"kind": "regular", "enabled": True, "running": False}, {"timer": timer, "service": service}),
    ):
        with pytest.raises(DesiredError) as caught:
            PROVIDER.adopt("job", seen)
        assert "unit:job.timer" in caught.value.hint
    stopped: dict[str, FieldValue] = {"kind": "regular", "enabled": False, "running": False}
    found = PROVIDER.adopt("job", Present(stopped, {"timer": timer, "service": service}))
    assert found == {**JOB, "running": False}
