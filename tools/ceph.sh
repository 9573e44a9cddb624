#!/bin/sh
# A small real Ceph cluster on this machine: one mon, one mgr, three OSDs, one pool.
#
#   tools/ceph.sh start DIR         make it in DIR, if it is not there, and start what does not run
#   tools/ceph.sh stop DIR          end all daemons; the data stays
#   tools/ceph.sh wipe DIR          end all daemons and remove DIR
#   tools/ceph.sh spawn DIR NAME    start one daemon: mon.a, mgr.x, osd.0, osd.1, ...
#   tools/ceph.sh kill DIR NAME     kill -9 one daemon
#   tools/ceph.sh pid DIR NAME      its process id; nothing and exit code 1 when it does not run
#   tools/ceph.sh pids DIR          NAME PID of all that run
#   tools/ceph.sh ceph DIR ARG...   the command ceph, as administrator of this cluster
#   tools/ceph.sh rados DIR ARG...  the command rados, likewise
#
# All it makes is in DIR: ceph.conf, keyrings, data, logs.  DIR/pool holds the name of the
# pool; client.tavola may do in it what tavolad does, and nothing else.  No systemd, no root,
# and ports that nothing else listens on.  For trying things out and for tests: all replicas
# are on one disk.
#
#   CEPH_OSDS=3   CEPH_PGS=32   CEPH_POOL=tavola       when it is made
#   CEPH_OWNER=PID                                      with start: stop when this process is gone

set -eu

usage()
{
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
    exit 2
}

[ $# -ge 2 ] || usage
command=$1
case "$2" in
/*) dir=$2 ;;
*) dir=$PWD/$2 ;;
esac
shift 2

conf=$dir/ceph.conf
osds=${CEPH_OSDS:-3}
pool=${CEPH_POOL:-tavola}

fail()
{
    echo "ceph.sh: $1" >&2
    exit 1
}

# admin PROGRAM ARG...: ceph or rados as client.admin.
admin()
{
    program=$1
    shift
    "$program" -c "$conf" "$@"
}

# --- processes ---

# running NAME: print its pid; fails when it does not run.  A pid file may be older than the
# machine's last start, so the process must be one that was started with our ceph.conf.
running()
{
    [ -f "$dir/run/$1.process" ] || return 1
    read -r pid <"$dir/run/$1.process" || return 1
    tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "-c $conf" || return 1
    echo "$pid"
}

names()
{
    for file in "$dir"/run/*.process; do
        [ -f "$file" ] || continue
        file=${file##*/}
        echo "${file%.process}"
    done
}

# spawn NAME: a session of its own, so that Ctrl-C in the terminal does not end it before its
# clients; nothing inherited but the log.
spawn()
{
    if running "$1" >/dev/null; then
        return
    fi
    case "$1" in
    mon.* | mgr.* | osd.*) ;;
    *) fail "there is no daemon '$1'; they are mon.a, mgr.x, osd.0 and so on" ;;
    esac
    setsid "ceph-${1%%.*}" -f -i "${1#*.}" -c "$conf" >>"$dir/log/$1.out" 2>&1 </dev/null \
        3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    echo $! >"$dir/run/$1.process"
}

stop_all()
{
    rm -f "$dir/run/owner"
    # The mon last: an OSD that stops tells it so, and nobody has to wait for heartbeats.
    for signal in TERM KILL; do
        for kind in osd mgr mon; do
            for name in $(names); do
                [ "${name%%.*}" = $kind ] && pid=$(running "$name") && kill -$signal "$pid" || :
            done
            tries=600
            while [ $tries -gt 0 ] && any_running $kind; do
                sleep 0.1
                tries=$((tries - 1))
            done
        done
    done
    rm -f "$dir"/run/*.process
}

# any_running KIND
any_running()
{
    for name in $(names); do
        [ "${name%%.*}" = "$1" ] && running "$name" >/dev/null && return 0
    done
    return 1
}

# --- making it ---

free_port()
{
    # Between the ports of the servers that tests start and those that the kernel gives to clients.
    /usr/bin/python3 -c '
import random, socket
while True:
    port = random.randrange(32000, 32768)
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break'
}

write_conf()
{
    cat >"$conf" <<CONF
[global]
fsid = $1
mon_host = v2:127.0.0.1:$2
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
ms_bind_msgr1 = false
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
auth_allow_insecure_global_id_reclaim = false
run_dir = $dir/run
admin_socket = $dir/run/\$name.asok
pid_file =
log_file = $dir/log/\$name.log
crash_dir = $dir/crash
osd_pool_default_size = 3
osd_pool_default_min_size = 2
osd_pool_default_pg_autoscale_mode = off
# All OSDs are on this one machine, so a replica's failure domain is an OSD.
osd_crush_chooseleaf_type = 0
# An OSD that is silent for 4 s is taken for dead (Ceph's default is 20).  The mon reads
# this too, so it must stand here and not under [osd].
osd_heartbeat_interval = 1
osd_heartbeat_grace = 4

[client]
keyring = $dir/\$name.keyring
log_file = /dev/null
admin_socket =

[mon]
mon_data = $dir/mon.\$id
keyring = $dir/mon.keyring
mon_cluster_log_file = $dir/log/cluster.log
mon_data_avail_warn = 2
mon_data_avail_crit = 1
mon_allow_pool_delete = true
mon_max_pg_per_osd = 1000
mon_osd_min_down_reporters = 1
mon_osd_reporter_subtree_level = osd
mon_osd_adjust_heartbeat_grace = false
mon_osd_down_out_interval = 600
paxos_propose_interval = 0.1
mon_rocksdb_options = write_buffer_size=4194304,compression=kNoCompression

[mgr]
mgr_data = $dir/mgr.\$id
keyring = $dir/mgr.\$id/keyring
mgr_initial_modules =
mgr_stats_period = 1

[osd]
osd_data = $dir/osd.\$id
keyring = $dir/osd.\$id/keyring
osd_objectstore = bluestore
osd_mon_report_interval = 1
osd_fast_fail_on_connection_refused = true
# A sparse file; it grows with what is stored.
bluestore_block_size = 10737418240
bluestore_cache_autotune = false
bluestore_cache_size = 67108864
bluestore_rocksdb_options = compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,recycle_log_file_num=4,write_buffer_size=16777216,writable_file_max_buffer_size=0,compaction_readahead_size=2097152,max_background_compactions=2
CONF
}

make_osd()
{
    mkdir -p "$dir/osd.$1"
    uuid=$(cat /proc/sys/kernel/random/uuid)
    key=$(ceph-authtool --gen-print-key)
    ceph-authtool "$dir/osd.$1/keyring" --create-keyring -n "osd.$1" --add-key "$key" >/dev/null
    echo "{\"cephx_secret\":\"$key\"}" >"$dir/osd.$1/secret.json"
    echo "$uuid" >"$dir/osd.$1/uuid"
    ceph-osd -c "$conf" -i "$1" --mkfs --osd-uuid "$uuid" --no-mon-config \
        --monmap "$dir/monmap" >"$dir/log/make-osd.$1.out" 2>&1
}

# make: everything up to the first start.  DIR/made is written last: what was interrupted
# before is made anew.
make()
{
    stop_all
    rm -rf "$dir"/mon.* "$dir"/mgr.* "$dir"/osd.* "$dir"/run "$dir"/log "$dir"/*.keyring
    mkdir -p "$dir/run" "$dir/log" "$dir/crash" "$dir/mon.a" "$dir/mgr.x"
    fsid=$(cat /proc/sys/kernel/random/uuid)
    port=$(free_port)
    write_conf "$fsid" "$port"

    ceph-authtool "$dir/client.admin.keyring" --create-keyring --gen-key -n client.admin \
        --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *' >/dev/null
    ceph-authtool "$dir/mgr.x/keyring" --create-keyring --gen-key -n mgr.x \
        --cap mon 'allow profile mgr' --cap osd 'allow *' --cap mds 'allow *' >/dev/null
    # What tavolad may: rows and extents in its pool, and to shut out a node that is dead.
    ceph-authtool "$dir/client.tavola.keyring" --create-keyring --gen-key -n client.tavola \
        --cap mon 'allow r, allow command "osd blocklist"' \
        --cap osd "allow rwx pool=$pool" --cap mgr 'allow r' >/dev/null
    ceph-authtool "$dir/mon.keyring" --create-keyring --gen-key -n mon. --cap mon 'allow *' \
        >/dev/null
    for keyring in client.admin.keyring mgr.x/keyring client.tavola.keyring; do
        ceph-authtool "$dir/mon.keyring" --import-keyring "$dir/$keyring" >/dev/null
    done
    monmaptool --create --clobber --fsid "$fsid" --addv a "v2:127.0.0.1:$port" "$dir/monmap" \
        >/dev/null
    ceph-mon -c "$conf" --mkfs -i a --monmap "$dir/monmap" --keyring "$dir/mon.keyring" \
        >"$dir/log/make-mon.out" 2>&1 || fail "$(tail -n 3 "$dir/log/make-mon.out")"
    watch_owner
    spawn mon.a
    spawn mgr.x
    # All at once: each waits for the disk more than it computes.
    makers=
    number=0
    while [ $number -lt "$osds" ]; do
        make_osd $number &
        makers="$makers $!"
        number=$((number + 1))
    done
    number=0
    for maker in $makers; do
        wait "$maker" || fail "$(tail -n 3 "$dir/log/make-osd.$number.out")"
        admin ceph --connect-timeout 300 osd new "$(cat "$dir/osd.$number/uuid")" $number \
            -i "$dir/osd.$number/secret.json" >/dev/null
        spawn osd.$number
        number=$((number + 1))
    done
    echo "$pool" >"$dir/pool"
    for words in "create $pool ${CEPH_PGS:-32} ${CEPH_PGS:-32} replicated" \
        "application enable $pool tavola"; do
        # shellcheck disable=SC2086 # the words are meant to be split
        admin ceph osd pool $words >"$dir/log/make-pool.out" 2>&1 ||
            fail "$(tail -n 3 "$dir/log/make-pool.out")"
    done
    echo "$osds" >"$dir/made"
}

# usable: an object can be written, as it can when enough OSDs are up.
usable()
{
    for change in create rm; do
        timeout 300 rados -c "$conf" -p "$(cat "$dir/pool")" $change ceph.sh.probe \
            2>>"$dir/log/probe.out" || return 1
    done
}

# guard PID: stop when it is gone, unless somebody else has stopped or started it by then.
guard()
{
    while kill -0 "$1" 2>/dev/null; do
        sleep 0.5
        is_owner "$1" || return
    done
    if is_owner "$1"; then
        stop_all
    fi
}

watch_owner()
{
    [ -n "${CEPH_OWNER-}" ] || return 0
    echo "$CEPH_OWNER" >"$dir/run/owner"
    guard "$CEPH_OWNER" >/dev/null 2>&1 </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
}

is_owner()
{
    [ -f "$dir/run/owner" ] && [ "$(cat "$dir/run/owner")" = "$1" ]
}

start()
{
    if [ -f "$dir/made" ]; then
        watch_owner
        spawn mon.a
        spawn mgr.x
        number=0
        while [ $number -lt "$(cat "$dir/made")" ]; do
            spawn osd.$number
            number=$((number + 1))
        done
    else
        make
    fi
    for name in $(names); do
        running "$name" >/dev/null || fail "$name did not start: $(tail -n 3 "$dir/log/$name.out")"
    done
    usable || fail "the pool takes no writes; see $dir/log"
    # A cluster that is still placing its data is slow and has surprises; wait for quiet.
    tries=1000
    while [ $tries -gt 0 ] && ! admin ceph status 2>/dev/null | is_clean; do
        sleep 0.2
        tries=$((tries - 1))
    done
}

# is_clean: all OSDs are up, and every placement group is active+clean.
is_clean()
{
    awk -v osds="$(cat "$dir/made")" '
        / osd: / { up = $2 == osds && $4 == osds }
        / pools: / { pgs = $4 }
        / pgs: / { clean = $2 == pgs && $3 == "active+clean" }
        END { exit !(up && clean) }'
}

trap 'exit 130' HUP INT TERM
case "$command" in
start) start ;;
stop) stop_all ;;
wipe)
    stop_all
    rm -rf "$dir"
    ;;
spawn) spawn "$1" ;;
kill)
    pid=$(running "$1") || fail "$1 does not run"
    kill -KILL "$pid"
    # Until it is gone its port is taken.
    while running "$1" >/dev/null; do sleep 0.02; done
    ;;
pid) running "$1" ;;
pids)
    for name in $(names); do
        pid=$(running "$name") && echo "$name $pid" || :
    done
    ;;
ceph | rados) admin "$command" "$@" ;;
*) usage ;;
esac
