#!/bin/sh
# Lets members of the group tidewire listen on ports with tidewire-tap, which can do nothing else.
set -e
[ "$1" = configure ] || exit 0
tap=/usr/bin/tidewire-tap
if ! getent group tidewire >/dev/null; then
    if ! groupadd --system tidewire; then
        echo "tidewire: no group tidewire; only root listens on ports" >&2
        chmod 0755 "$tap"
        exit 0
    fi
fi
# A mode that the administrator chose stays, and its owner.
if ! dpkg-statoverride --list "$tap" >/dev/null 2>&1; then
    chown root:tidewire "$tap"
    chmod 0750 "$tap"
fi
# Last, because a change of owner drops capabilities. The file system may have none.
if ! setcap cap_net_raw=ep "$tap"; then
    echo "tidewire: tidewire-tap has no capability; only root listens on ports" >&2
fi
