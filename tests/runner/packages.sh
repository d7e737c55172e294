# Installs packages of Debian. Sourced by tests/run.sh and tests/cross.

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

# get PACKAGE...: installs packages of Debian.
get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -q -y \
        --no-install-recommends "$@" >/dev/null
}
