base=/usr/lib/datum
timers="@TIMERS@"

booted() { [ -d /run/systemd/system ]; }

processes() { # FOLDER: those that run from a version; the pattern comes from a pipe, or grep would find itself
    echo "$1/bin/python" | grep -lszaxFf - /proc/[0-9]*/cmdline | cut -d/ -f3
}

is_used() { [ -n "$(processes "$1")" ]; } # FOLDER

start_timer() { # the regular one, where datum init enabled it; that of the boot would elapse at once
    if booted && systemctl --quiet is-enabled datum.timer 2> /dev/null; then
        deb-systemd-invoke start datum.timer || true
    fi
}
