"""What mounts mean, what is seen of them, planned and done."""

from typing import Any, ClassVar, Final

import pytest
from attrs import evolve

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Absent, NotApplicable, Present
from datum.model.plan import Change, Effect, Operation, Step
from datum.model.result import FailureCause
from datum.model.secret import Secret
from datum.provider.contract import AnyProvider, DesiredError, Removal
from datum.provider.host import CommandOutcome, FileKind, HostError
from datum.provider.manager import MountEntry
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.directory.provider import DirectoryProvider
from datum_providers.mount.steps import STALE
from datum_providers.mount.units import mount_unit
from tests.providers.index import Index
from tests.providers.mount.host import (
    FSTAB,
    POINT,
    PROVIDER,
    both,
    changed,
    do,
    fstab,
    host_with,
    mounted,
    planned,
    ran,
    remove,
    see,
    system,
    wanted,
)
from tests.unit.fakes import declare, graph_of

LINE: Final = f"/dev/vdb1 {POINT} ext4 defaults 0 0\n"
EXT4: Final = {"source": "/dev/vdb1", "fstype": "ext4"}
OUTAGE: Final = frozenset({Hazard.OUTAGE})


def without_manager(host: FakeHost) -> None:
    host.remove_manager()


class TestMount(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = type(PROVIDER)
    cases: ClassVar[tuple[ConformanceCase, ...]] = (
        ConformanceCase("create", POINT, {**EXT4, "options": ("noexec", "nofail")}, Operation.CREATE),
        ConformanceCase("in sync", POINT, {**EXT4}, None, both(fstab(LINE), mounted())),
        ConformanceCase("not mounted", POINT, {**EXT4}, Operation.UPDATE, fstab(LINE)),
        ConformanceCase("not in fstab", POINT, {**EXT4}, Operation.UPDATE, mounted()),
        ConformanceCase("unwanted in fstab", POINT, {**EXT4, "persistent": False}, Operation.UPDATE,
                        both(fstab(LINE), mounted())),
        ConformanceCase("unwanted now", POINT, {**EXT4, "mounted": False}, Operation.UPDATE,
                        both(fstab(LINE), mounted())),
        ConformanceCase("other device", POINT, {**EXT4}, Operation.UPDATE,
                        both(fstab(LINE), mounted("ext4", "/dev/vdc1"))),
        ConformanceCase("options", POINT, {**EXT4, "options": ("noatime",), "pass": 2}, Operation.UPDATE,
                        both(fstab(LINE), mounted())),
        ConformanceCase("bind", POINT, {"source": "/home", "options": ("bind", "ro")}, Operation.CREATE),
        ConformanceCase("no manager", POINT, {**EXT4}, Operation.CREATE, without_manager),
        ConformanceCase("another", "/srv/x y", {**EXT4, "mounted": False}, Operation.CREATE),
    )  # fmt: skip

    def make_host(self) -> FakeHost:
        host = FakeHost()
        system(host)
        return host


@pytest.mark.parametrize(
    ("attributes", "attribute"),
    [
        ({"source": None}, "source"),
        ({"fstype": None}, "fstype"),
        ({"source": " "}, "source"),
        ({"source": "a\nb"}, "source"),
        ({"fstype": "\ud800"}, "fstype"),
        ({"fstype": "none"}, "options"),
        ({"fstype": "none", "options": ("ro",)}, "options"),
        ({"options": ("a,b",)}, "options"),
        ({"options": ("",)}, "options"),
        ({"options": ("a b",)}, "options"),
        ({"options": "noatime"}, "options"),
        ({"dump": True}, "dump"),
        ({"pass": 10}, "pass"),
        ({"mounted": "yes"}, "mounted"),
        ({"mounted": False, "persistent": False}, "mounted"),
        ({"persistent": False, "pass": 2}, "pass"),
        ({"persistent": False, "dump": 1}, "dump"),
    ],
)
def test_what_cannot_be_meant(attributes: dict[str, Any], attribute: str) -> None:
    with pytest.raises(DesiredError) as caught:
        wanted(**attributes)
    assert caught.value.attribute == attribute


def test_names_are_paths_and_the_root_is_one_that_stays() -> None:
    with pytest.raises(DesiredError):
        PROVIDER.normal_name("srv")
    assert PROVIDER.normal_name("/srv//data/") == POINT
    with pytest.raises(DesiredError):
        PROVIDER.parse("/", {**EXT4, "mounted": False})
    desired = PROVIDER.parse("/", {})
    seen = PROVIDER.observe(host_with().reader(), {"/": desired})["/"]
    assert isinstance(seen, Present)
    assert seen.obstacles == ("The root of a host is always mounted.",)


def test_defaults_are_no_option_and_the_order_of_options_means_nothing() -> None:
    assert wanted(options=("defaults",)).options == ()
    host = host_with(
        fstab(f"/dev/vdb1 {POINT} ext4 nofail,defaults,noatime 0 0\n"), mounted("ext4", "/dev/vdb1", "noatime")
    )
    assert planned(host, wanted(options=("noatime", "nofail"))) is None


def test_a_mount_is_made_whole() -> None:
    host = host_with(fstab("# mine\n"))
    step = planned(host, wanted(options=("noexec", "nofail"), **{"pass": 2}))
    assert step is not None
    assert step.operation is Operation.CREATE
    assert PROVIDER.hazards(wanted(), step) == frozenset()
    assert PROVIDER.effects(wanted(), step) == (Effect(Target("path", POINT)), Effect(Target("mount", POINT)))
    do(host, wanted(options=("noexec", "nofail"), **{"pass": 2}))
    assert host.files[FSTAB].data == f"# mine\n/dev/vdb1 {POINT} ext4 noexec,nofail 0 2\n".encode()
    assert [entry.method for entry in host.journal] == ["write_file", "daemon_reload", "make_directory", "run"]
    assert ran(host) == [f"mount -t ext4 -o noexec -- /dev/vdb1 {POINT}"]
    assert host.files[POINT].kind is FileKind.DIRECTORY


def test_directories_above_the_mount_point_are_somebody_elses() -> None:
    host = host_with()
    desired = PROVIDER.parse("/srv/a/b", EXT4)
    step = planned(host, desired)
    assert step is not None
    assert [str(need.target) for need in step.needs] == ["path /srv/a"]
    only = PROVIDER.parse("/srv/a/b", {**EXT4, "mounted": False})
    assert not planned(host, only).needs  # type: ignore[union-attr]  # it is not there


def test_what_a_mount_hides_is_told() -> None:
    host = host_with(fstab(LINE), lambda host: host.add_file(f"{POINT}/old"))
    (remark,) = do(host, wanted())
    assert "hidden" in remark


def test_other_lines_and_what_is_not_declared_stay() -> None:
    text = f"# a\n\nUUID=1 / ext4 errors=remount-ro 0 1\n/dev/vdb1\t{POINT}/  ext4 nofail 1  2 # note\nbad\n"
    host = host_with(fstab(text), mounted())
    assert planned(host, wanted()) is None
    do(host, wanted(options=("noatime",)))
    after = text.replace(" nofail 1", " noatime 1")
    assert host.files[FSTAB].data == after.encode()
    do(host, wanted(options=(), dump=0))
    assert host.files[FSTAB].data == after.replace(" noatime 1", " defaults 0").encode()


def test_without_a_manager_and_below_another_root_only_fstab_is_kept() -> None:
    for host in (host_with(without_manager), host_with(is_running_system=False)):
        seen = see(host, wanted())
        assert isinstance(seen, Absent)
        assert seen.fields["mounted"] == NotApplicable("no-manager")
        do(host, wanted())
        assert [entry.method for entry in host.journal] == ["write_file"]
        remove(host)
        assert host.files[FSTAB].data == b""
        assert not ran(host)


@pytest.mark.parametrize("fstype", ["ext4", "tmpfs", "fuse.bindfs"])
def test_without_a_manager_and_below_another_root_changed_options_remount_nothing(fstype: str) -> None:
    """What is mounted there may be anything, as the disk of an image, and belongs to the running system."""
    text = LINE.replace("ext4", fstype).replace("defaults", "noexec,nofail")
    for how in ({"is_running_system": False}, {}):
        host = host_with(*([] if how else [without_manager]), fstab(text), mounted(fstype), **how)
        desired = wanted(fstype=fstype, options=("nosuid", "nofail"))
        step = planned(host, desired)
        assert step is not None
        assert changed(step) == ["options"]
        assert PROVIDER.hazards(desired, step) == frozenset()
        do(host, desired)
        assert host.files[FSTAB].data == text.replace("noexec", "nosuid").encode()
        assert not ran(host)
        remove(host)
        assert host.files[FSTAB].data == b""
        assert not ran(host)


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("UUID=0AB-1", "/dev/vdb1"),
        ('UUID="0AB-1"', "/dev/vdb1"),
        ("LABEL=my data", "/dev/vdb1"),
        ("/dev/disk/by-uuid/0AB-1", "/dev/vdb1"),
        ("/dev/mapper/vg-lv", "/dev/dm-0"),
        ("/dev/vg/lv", "/dev/mapper/vg-lv"),
    ],
)
def test_names_of_one_device_are_one(source: str, seen: str) -> None:
    host = host_with(mounted("ext4", seen))
    host.add_link("/dev/disk/by-uuid/0AB-1", "../../vdb1")
    host.add_link(r"/dev/disk/by-label/my\x20data", "../../vdb1")
    host.add_link("/dev/mapper/vg-lv", "../dm-0")
    host.add_link("/dev/vg/lv", "../dm-0")
    desired = wanted(source=source)
    do(host, desired)
    assert not ran(host)
    fstab(f"{seen} {POINT} ext4 defaults\n")(host)
    assert planned(host, desired) is None


@pytest.mark.parametrize(
    ("source", "fstype", "kind", "seen"),
    [
        ("server:/export/", "nfs", "nfs4", "server:/export"),
        ("tmp", "tmpfs", "tmpfs", "tmpfs"),
        ("server:vol", "glusterfs", "fuse.glusterfs", "server:vol"),
        ("/dev/vdb1", "auto", "xfs", "/dev/vdb1"),
        ("/dev/vdb1", "ntfs-3g", "fuseblk", "/dev/vdb1"),
        ("overlay", "overlay", "overlay", "none"),
        # As bindfs 1.14, fuse2fs 1.47 and sshfs 3.7 of Debian 12 were seen, mounted by mount.fuse3(8).
        ("/srv/src", "fuse.bindfs", "fuse", "/srv/src"),
        ("bindfs#/srv/src", "fuse", "fuse", "/srv/src"),
        ("/srv/i.img", "fuse.fuse2fs", "fuse.ext4", "/srv/i.img"),
        ("fuse2fs#/srv/i.img", "fuse", "fuse.ext4", "/srv/i.img"),
        ("root@localhost:/srv/src", "sshfs", "fuse.sshfs", "root@localhost:/srv/src"),
        ("sshfs#root@localhost:/srv/src", "fuse", "fuse.sshfs", "root@localhost:/srv/src"),
        # A program that says no source is shown by its own name.
        ("/srv/i.squashfs", "fuse.squashfuse", "fuse.squashfuse", "squashfuse"),
        ("/srv/i.img", "fuse.thing", "fuse", "/dev/fuse"),
    ],
)
def test_types_and_sources_have_other_names_in_the_kernel(source: str, fstype: str, kind: str, seen: str) -> None:
    host = host_with(mounted(kind, seen))
    assert planned(host, wanted(source=source, fstype=fstype, persistent=False)) is None


@pytest.mark.parametrize(
    ("source", "fstype", "kind", "seen"),
    [
        ("/srv/other", "fuse.bindfs", "fuse", "/srv/src"),
        ("bindfs#/srv/other", "fuse", "fuse", "/srv/src"),
        ("/srv/src", "fuse.bindfs", "ext4", "/srv/src"),
        ("/srv/src", "ext4", "fuse", "/srv/src"),
        ("/srv/src", "nfs", "fuse.nfs-other", "/srv/src"),
    ],
)
def test_another_source_or_kind_is_another_mount(source: str, fstype: str, kind: str, seen: str) -> None:
    step = planned(host_with(mounted(kind, seen)), wanted(source=source, fstype=fstype, persistent=False))
    assert changed(step) == ["mounted_source" if kind == "fuse" and fstype != "ext4" else "mounted_fstype"]


def test_the_file_behind_a_loop_device_is_its_source() -> None:
    host = host_with(mounted("ext4", "/dev/loop3"))
    host.add_file("/sys/devices/virtual/block/loop3/loop/backing_file", b"/srv/x.img\n")
    assert planned(host, wanted(source="/srv/x.img", options=("loop",), persistent=False)) is None
    step = planned(host, wanted(source="/srv/y.img", options=("loop",), persistent=False))
    assert step is not None
    assert step.changes == (Change("mounted_source", "/dev/loop3", "/srv/y.img"),)


def test_bind_mounts_are_compared_by_what_they_show() -> None:
    """Others mount them anew in each run (posix 459)."""
    desired = PROVIDER.parse(POINT, {"source": "/home/web", "options": ("bind",)})
    assert desired.fstype == "none"
    host = host_with()
    do(host, desired)
    assert ran(host) == [f"mount -o bind -- /home/web {POINT}"]
    assert host.files[FSTAB].data == f"/home/web {POINT} none bind 0 0\n".encode()
    other = PROVIDER.parse(POINT, {"source": "/home/other", "options": ("bind",)})
    step = planned(host, other)
    assert step is not None
    assert changed(step) == ["source", "mounted_source"]
    assert PROVIDER.hazards(other, step) == OUTAGE


def test_a_bind_mount_of_a_directory_of_another_file_system() -> None:
    home = MountEntry("/home", "xfs", "/dev/vdc1", frozenset({"rw"}), root="/sub", device="254:33")
    shown = MountEntry(POINT, "xfs", "/dev/vdc1", frozenset({"rw"}), root="/sub/web", device="254:33")
    host = host_with(lambda host: host.add_mount(home), lambda host: host.add_mount(shown))
    desired = PROVIDER.parse(POINT, {"source": "/home/web", "options": ("bind",), "persistent": False})
    assert planned(host, desired) is None


def test_a_file_is_shown_on_a_file() -> None:
    host = host_with(lambda host: host.add_file("/home/one"))
    do(host, PROVIDER.parse(POINT, {"source": "/home/one", "options": ("bind",)}))
    assert host.files[POINT].kind is FileKind.REGULAR


def test_only_what_is_on_top_counts() -> None:
    host = host_with(fstab(LINE), mounted("ext4", "/dev/vdc1"), mounted())
    assert planned(host, wanted()) is None
    host.add_mount(MountEntry("/srv", "tmpfs", "tmpfs"))
    assert changed(planned(host, wanted())) == ["mounted"]


@pytest.mark.parametrize("fstype", ["ext4", "tmpfs"])
def test_another_file_system_takes_the_place_of_one_with_an_outage(fstype: str) -> None:
    host = host_with(fstab(LINE), mounted(fstype, "/dev/vdc1"))
    desired = wanted(fstype="xfs")
    step = planned(host, desired)
    assert step is not None
    names = {"fstype", "mounted_source", "mounted_fstype"} - ({"mounted_source"} if fstype == "tmpfs" else set())
    assert set(changed(step)) == names
    assert PROVIDER.hazards(desired, step) == OUTAGE | ({Hazard.DATA_LOSS} if fstype == "tmpfs" else set())
    do(host, desired)
    assert ran(host) == [f"umount --no-canonicalize -- {POINT}", f"mount -t xfs -- /dev/vdb1 {POINT}"]
    assert [entry.method for entry in host.journal][:2] == ["write_file", "daemon_reload"]


@pytest.mark.parametrize(
    ("fstype", "options", "command"),
    [
        ("ext4", ("noexec", "noatime", "nofail", "errors=remount-ro"), "remount,noexec,noatime,errors=remount-ro"),
        ("tmpfs", ("size=2g", "mode=0755", "noexec"), "remount,size=2g,noexec"),
        ("nfs", ("noexec", "vers=4.2"), "remount,noexec"),
    ],
)
def test_options_that_a_remount_can_give_are_given_by_one(fstype: str, options: tuple[str, ...], command: str) -> None:
    host = host_with(mounted(fstype))
    desired = wanted(fstype=fstype, options=options, persistent=False)
    step = planned(host, desired)
    assert step is not None
    assert changed(step) == ["missing_options"]
    assert PROVIDER.hazards(desired, step) == frozenset()
    do(host, desired)
    assert ran(host) == [f"mount -o {command} -- /dev/vdb1 {POINT}"]


def test_an_option_that_fstab_loses_is_taken_back() -> None:
    """A remount that only adds leaves the old ones (PR 59530): all flags are given."""
    host = host_with(fstab(LINE.replace("defaults", "noexec,nosuid")), mounted("ext4", "/dev/vdb1", "noexec", "nosuid"))
    do(host, wanted(options=("nosuid",)))
    assert ran(host) == [f"mount -o remount,nosuid -- /dev/vdb1 {POINT}"]


@pytest.mark.parametrize("fstype", ["fuse.sshfs", "glusterfs"])
def test_what_cannot_be_remounted_is_mounted_anew_with_an_outage(fstype: str) -> None:
    host = host_with(mounted(fstype))
    desired = wanted(fstype=fstype, options=("noexec",), persistent=False)
    step = planned(host, desired)
    assert step is not None
    assert PROVIDER.hazards(desired, step) == OUTAGE
    do(host, desired)
    assert ran(host) == [f"umount --no-canonicalize -- {POINT}", f"mount -t {fstype} -o noexec -- /dev/vdb1 {POINT}"]


def test_a_bind_mount_is_remounted_as_one() -> None:
    home = MountEntry(POINT, "ext4", "/dev/vda1", frozenset({"rw"}), root="/home", device="254:1")
    host = host_with(lambda host: host.add_mount(home))
    do(host, PROVIDER.parse(POINT, {"source": "/home", "options": ("bind", "ro"), "persistent": False}))
    assert ran(host) == [f"mount -o remount,bind,ro -- /home {POINT}"]


def test_a_mount_that_waits_for_a_look_is_one() -> None:
    host = host_with(fstab(LINE.replace("defaults", "x-systemd.automount")), mounted("autofs", "systemd-1"))
    assert planned(host, wanted(options=("x-systemd.automount",))) is None


def test_an_fstab_that_systemd_has_not_read_is_drift() -> None:
    """It would mount the old device over the new one (systemd 3568)."""
    host = host_with(fstab(LINE), mounted())
    host.add_unit("srv-data.mount", fragment="/run/systemd/generator/srv-data.mount", needs_daemon_reload=True)
    step = planned(host, wanted())
    assert step is not None
    assert step.changes == (Change("loaded", STALE, "current"),)
    PROVIDER.apply(host.writer(), wanted(), step)
    assert [entry.method for entry in host.journal] == ["daemon_reload"]


@pytest.mark.parametrize(
    ("point", "unit"),
    [("/", "-.mount"), (POINT, "srv-data.mount"), ("/srv/my-data", r"srv-my\x2ddata.mount"),
     ("/.x/.y", r"\x2ex-.y.mount"), ("/ä b", r"\xc3\xa4\x20b.mount")],
)  # fmt: skip
def test_units_are_named_as_systemd_names_them(point: str, unit: str) -> None:
    assert mount_unit(point) == unit


def test_absent_unmounts_all_that_is_stacked_and_drops_every_line() -> None:
    host = host_with(fstab(f"# x\n{LINE}{LINE}"), mounted("ext4", "/dev/vdc1"), mounted())
    step = remove(host)
    assert PROVIDER.hazards(PROVIDER.parse(POINT, {}), step) == OUTAGE
    assert isinstance(see(host, PROVIDER.parse(POINT, {})), Absent)
    assert host.files[FSTAB].data == b"# x\n"
    assert POINT in host.files
    assert ran(host) == [f"umount --no-canonicalize -- {POINT}"] * 2
    assert host.journal[-1].method == "daemon_reload"
    assert PROVIDER.removal(wanted()) is Removal.KEEP


def test_what_lies_in_memory_is_lost_with_its_mount() -> None:
    host = host_with(mounted("tmpfs", "tmpfs"))
    step = remove(host)
    assert PROVIDER.hazards(PROVIDER.parse(POINT, {}), step) == OUTAGE | {Hazard.DATA_LOSS}


def test_an_unwanted_mount_is_unmounted_and_stays_in_fstab() -> None:
    host = host_with(fstab(LINE), mounted())
    step = planned(host, wanted(mounted=False))
    assert step is not None
    assert PROVIDER.hazards(wanted(mounted=False), step) == OUTAGE
    do(host, wanted(mounted=False))
    assert host.files[FSTAB].data == LINE.encode()


def busy(host: FakeHost) -> None:
    host.add_program("umount", lambda _world, _command: CommandOutcome(32, b"", b"umount: target is busy.\n"))


def test_who_keeps_a_file_system_busy_is_named_and_nothing_is_changed() -> None:
    host = host_with(fstab(LINE), mounted(), busy)
    for pid, name, link, end in (
        (7, b"bash\n", "cwd", POINT),
        (8, b"app\n", "fd/3", f"{POINT}/log"),
        (9, b"no\n", "cwd", "/"),
    ):
        host.add_file(f"/proc/{pid}/comm", name)
        host.add_directory(f"/proc/{pid}/fd")
        host.add_link(f"/proc/{pid}/{link}", end)
    with pytest.raises(HostError) as caught:
        remove(host)
    assert caught.value.failure is FailureCause.BUSY
    assert caught.value.detail.endswith("It is in use by bash (7), app (8).")
    assert host.files[FSTAB].data == LINE.encode()


def test_mounts_below_are_named() -> None:
    host = host_with(mounted(), lambda host: host.add_mount(MountEntry(f"{POINT}/x", "tmpfs", "t")), busy)
    with pytest.raises(HostError, match=f"mounted below it: {POINT}/x"):
        remove(host)


def test_another_refusal_to_unmount_is_no_busy_one() -> None:
    host = host_with(mounted())
    host.add_program("umount", lambda _world, _command: CommandOutcome(32, b"", b"umount: no.\n"))
    with pytest.raises(HostError) as caught:
        remove(host)
    assert caught.value.failure is FailureCause.OTHER


def test_leftovers_beside_fstab_are_cleared() -> None:
    host = host_with(fstab(LINE), mounted())
    host.world.residues.add(FSTAB)
    do(host, wanted())
    assert not host.world.residues


@pytest.mark.parametrize("kind", [FileKind.SYMLINK, FileKind.DIRECTORY, FileKind.FIFO])
def test_an_fstab_that_is_no_file_is_told_and_stays(kind: FileKind) -> None:
    host = host_with(lambda host: host.add(FSTAB, FakeFile(kind, "0777", link="/x" if kind == "symlink" else "")))
    for desired in (wanted(), PROVIDER.parse(POINT, {})):
        seen = see(host, desired)
        assert isinstance(seen, Present)
        assert "stands at '/etc/fstab', and no regular file" in seen.obstacles[0]
        step = planned(host, desired)
        assert step is not None
        assert step.changes == (Change("kind", kind.value, "regular"),)
        assert [(need.target.kind, need.detail) for need in step.needs] == [("nothing", seen.obstacles[0])]
        assert not PROVIDER.hazards(desired, step)
        with pytest.raises(DesiredError, match="no regular file"):
            PROVIDER.adopt(POINT, seen)
    line = Step(Operation.UPDATE, (Change("persistent", before=False, after=True),))
    with pytest.raises(HostError, match="no regular file"):
        PROVIDER.apply(host.writer(), wanted(), line)
    assert not host.journal


@pytest.mark.parametrize(
    "option",
    ["password=p4ss", "pass=p4ss", "passwd=p4ss", "PASSWORD=p4ss", "password2=p4ss", "secret=p4ss", "user=me%p4ss",
     "username=me:p4ss", Secret(b"p4ss")],
)  # fmt: skip
def test_a_password_among_the_options_is_refused_and_not_repeated(option: Any) -> None:
    with pytest.raises(DesiredError) as caught:
        wanted(source="//server/share", fstype="cifs", options=("ro", option))
    error = caught.value
    assert (error.attribute, error.code) == ("options", "secret-shown")
    assert "credentials=FILE" in error.hint
    assert "p4ss" not in f"{error.detail}{error.hint}"


@pytest.mark.parametrize("source", ["//me:p4ss@server/share", "https://me:p4ss@server/dav", Secret(b"p4ss")])
def test_a_password_in_the_source_is_refused(source: Any) -> None:
    with pytest.raises(DesiredError) as caught:
        wanted(source=source, fstype="cifs")
    assert (caught.value.attribute, caught.value.code) == ("source", "secret-shown")
    assert "p4ss" not in caught.value.detail


def test_what_only_looks_like_a_password_is_none() -> None:
    options = ("credentials=/etc/cifs", "user=me", "password", "secretfile=/etc/ceph", "x-pass=1")
    assert wanted(options=options).options == options
    assert wanted(source="server:/me@x").source == "server:/me@x"
    assert wanted(source="me@fs.name=/", fstype="ceph").source == "me@fs.name=/"


def test_a_password_that_fstab_holds_is_not_shown_and_not_adopted() -> None:
    line = f"//server/share {POINT} cifs ro,password=p4ss 0 0\n"
    host, bare = host_with(fstab(line)), PROVIDER.parse(POINT, {})
    seen = see(host, bare)
    assert isinstance(seen, Present)
    assert seen.fields["options"] == ("ro", "password=(secret)")
    assert PROVIDER.adopt(POINT, seen) == {"source": "//server/share", "fstype": "cifs", "mounted": False}
    keeping = wanted(source="//server/share", fstype="cifs", mounted=False)
    assert planned(host, keeping) is None
    step = planned(host, evolve(keeping, options=("ro", "credentials=/etc/cifs")))
    assert "p4ss" not in str(step)
    assert changed(step) == ["options"]


@pytest.mark.parametrize("absent", [True, False])
def test_a_directory_goes_and_is_set_after_what_is_mounted_on_it(*, absent: bool) -> None:
    """What is mounted hides it: removed first it would be busy, and its mode would be that of what lies below."""
    said: dict[str, Any] = {} if absent else EXT4
    mount = evolve(declare(f"mount:{POINT}", absent=absent), attributes=said)
    folder = evolve(declare(f"directory:{POINT}", absent=absent), attributes={})
    graph = graph_of(folder, mount, providers={"mount": PROVIDER, "directory": DirectoryProvider()})
    assert [origin.type for origin in graph.order] == ["mount", "directory"]
    (edge,) = graph.dependencies
    assert edge.kind is DependencyKind.REQUIRES


def test_without_a_source_nothing_is_mounted() -> None:
    host, desired = host_with(), PROVIDER.parse(POINT, {})
    step = planned(host, desired)
    assert step is not None
    assert [need.target.kind for need in step.needs] == ["nothing"]


def test_mounts_share_fstab() -> None:
    assert PROVIDER.targets(wanted()) == (Target("mount", POINT), Target("path", FSTAB))
    assert [target.shared for target in PROVIDER.targets(wanted())] == [False, True]
    assert PROVIDER.targets(wanted(persistent=False)) == (Target("mount", POINT),)


def test_what_is_above_and_what_is_shown_come_first() -> None:
    held = {
        Target("mount", "/srv"): "mount:/srv",
        Target("mount", POINT): f"mount:{POINT}",
        Target("path", POINT): f"directory:{POINT}",
        Target("path", "/srv"): "directory:/srv",
        Target("mount", "/home"): "mount:/home",
        Target("path", "/home/web"): "directory:/home/web",
        Target("package", "nfs-common"): "package:nfs-common",
    }
    index = evolve(Index(), holders={target: ResourceId.parse(text) for target, text in held.items()})
    bind = PROVIDER.parse(POINT, {"source": "/home/web", "options": ("bind",)})
    found = [(str(edge.target), edge.reason) for edge in PROVIDER.edges(bind, index)]
    assert found == [
        ("directory:/srv", "parent directory"),
        ("mount:/srv", "mount above"),
        ("directory:/home/web", "source"),
        ("mount:/home", "mount of the source"),
    ]
    nfs = PROVIDER.edges(wanted(source="server:/x", fstype="nfs"), index)[-1]
    assert (str(nfs.target), nfs.kind, nfs.soft) == ("package:nfs-common", DependencyKind.AFTER, True)


def test_what_is_adopted() -> None:
    host = host_with(fstab(f"UUID=1 {POINT} ext4 nofail 0 2\n"))
    bare = PROVIDER.parse(POINT, {})
    seen = see(host, bare)
    assert isinstance(seen, Present)
    line = {"source": "UUID=1", "fstype": "ext4", "options": ("nofail",), "pass": 2, "mounted": False}
    assert PROVIDER.adopt(POINT, seen) == line
    seen = see(host_with(mounted()), bare)
    assert isinstance(seen, Present)
    assert PROVIDER.adopt(POINT, seen) == {**EXT4, "persistent": False}
    seen = see(host_with(mounted("ext4", "/dev/vda1", root="/home")), bare)
    assert isinstance(seen, Present)
    with pytest.raises(DesiredError):
        PROVIDER.adopt(POINT, seen)
