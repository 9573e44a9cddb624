#!/bin/sh
# Install the Debian packages that a command of this repository needs.
#
#   tools/install-deps.sh client|run|check|cluster|sdks|browser|bench|fuzz
#
# Asks dpkg first, so a call with nothing missing is instant and needs no
# network.  Exit code 2 and one line that names the packages when something is
# missing and cannot be installed here.

set -eu

client_packages="gcc libc6-dev meson ninja-build pkg-config libssl-dev libedit-dev"
run_packages="$client_packages libuv1-dev librocksdb-dev libexpat1-dev"
check_packages="$run_packages ccache mold g++ libcmocka-dev libsimdjson-dev python3 python3-yaml python3-azure curl openssl
    chromium-headless-shell"

case "${1-}" in
client) wanted=$client_packages ;;
run) wanted=$run_packages ;;
check) wanted=$check_packages ;;
cluster) wanted="$run_packages python3 librados-dev ceph-mon ceph-mgr ceph-osd ceph-common haproxy" ;;
bench) wanted="$run_packages python3 wrk nginx-light libcurl4-openssl-dev" ;;
fuzz) wanted="$check_packages clang libclang-rt-dev" ;;
sdks) wanted="$check_packages python3-venv" ;;
browser) wanted="$check_packages chromium" ;;
*)
    echo "usage: tools/install-deps.sh client|run|check|cluster|sdks|browser|bench|fuzz" >&2
    exit 2
    ;;
esac

# The JavaScript SDK and Azurite run on any node from 18 on, so a node that
# came from elsewhere is as good as Debian's.
if [ "$1" != client ] && [ "$1" != run ] && [ "$1" != cluster ]; then
    command -v node >/dev/null || wanted="$wanted nodejs"
    command -v npm >/dev/null || wanted="$wanted npm"
fi

# So are other languages' own tools, and often newer.
if [ "$1" = sdks ]; then
    command -v go >/dev/null || wanted="$wanted golang-go"
    command -v javac >/dev/null || wanted="$wanted default-jdk-headless"
    command -v mvn >/dev/null || wanted="$wanted maven"
    command -v cargo >/dev/null || wanted="$wanted cargo"
fi

cannot_install()
{
    echo "Missing packages:$missing. $1" >&2
    exit 2
}

missing=
for package in $wanted; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) || status=
    [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

by_hand="apt-get update && apt-get install --no-install-recommends$missing"
command -v apt-get >/dev/null ||
    cannot_install "There is no apt-get here: install what these Debian packages hold."

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
        cannot_install "As root, run: $by_hand"
    sudo=sudo
    # Without a terminal nobody can type a password, so do not ask for one.
    [ -t 0 ] || sudo="sudo -n"
    $sudo true 2>/dev/null || cannot_install "As root, run: $by_hand"
fi

echo "Installing$missing"
case "$missing" in
*ceph-osd*) echo "(Ceph: 350 MB on disk, a minute or two)" ;;
*python3-azure*) echo "(python3-azure holds every Azure SDK: 540 MB on disk, a minute or two)" ;;
esac

# These are wanted as programs, not as services of the machine.
policy=
case "$missing" in
*nginx* | *haproxy* | *ceph-*)
    if [ ! -e /usr/sbin/policy-rc.d ]; then
        policy=/usr/sbin/policy-rc.d
        trap '$sudo rm -f "$policy"' EXIT
        trap 'exit 2' HUP INT TERM
        printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
        $sudo chmod 755 "$policy"
    fi
    ;;
esac

log=$(mktemp)
apt_install()
{
    # shellcheck disable=SC2086 # the list is meant to be split
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o DPkg::Lock::Timeout=300 $missing >"$log" 2>&1 </dev/null
}

# The lists of packages may be absent (a fresh container) or old.
if ! apt_install; then
    if ! { $sudo apt-get update -q >"$log" 2>&1 && apt_install; }; then
        why=$(grep -m 1 '^E:' "$log" || echo "E: it said nothing")
        rm -f "$log"
        cannot_install "apt-get failed (${why#E: }); as root, run: $by_hand"
    fi
fi
rm -f "$log"
