base=/usr/lib/datum
timers="@TIMERS@"

booted() { [ -d /run/systemd/system ]; }

processes() { # FOLDER: those of root that run from a version; anybody can begin a command line with a name of it
    python=$(readlink -f "$1/bin/python") || return 0
    # The pattern comes from a pipe, or grep would find itself.
    echo "$1/bin/python" | grep -lszaxFf - /proc/[0-9]*/cmdline | cut -d/ -f3 | while read -r pid; do
        [ "$(stat -c %u "/proc/$pid" 2> /dev/null)" = 0 ] || continue
        # What becomes root's by its mode, as su, is no Python. After an upgrade of Python "(deleted)" stands behind it.
        program=$(readlink "/proc/$pid/exe" 2> /dev/null) || continue
        if [ "${program% (deleted)}" = "$python" ]; then echo "$pid"; fi
    done
}

is_used() { [ -n "$(processes "$1")" ]; } # FOLDER

start_timer() { # the regular one, where datum init enabled it; that of the boot would elapse at once
    if booted && systemctl --quiet is-enabled datum.timer 2> /dev/null; then
        deb-systemd-invoke start datum.timer || true
    fi
}
