#!/usr/bin/env bash
# The network lab (validate/lab): its links have the rates they are given, its shared links are
# shared, Open MPI runs in it, and nothing of it stays. Where it cannot work: status 77.
#
#   tests/validate/lab/lab_test.sh            prints a line per check; status 1 when one fails, 77 when one could
#                                not be judged
set -euo pipefail
export LC_ALL=C # numbers with points, whatever the machine speaks

# On a host's side of the lab: SOURCE:DESTINATION... all at once, each BYTES; prints, of
# each, bytes and when the first and the last came.
if [ "${1:-}" = --flows ]; then
    flow=$2 bytes=$3 port=5000
    shift 3
    for pair in "$@"; do
        port=$((port + 1))
        "$LAB_RSH" "${pair#*:}" "$flow receive $port" &
        address=$(awk -v host="${pair#*:}" '$2 == host { print $1 }' /etc/hosts)
        "$LAB_RSH" "${pair%:*}" "$flow send $address $port $bytes" &
    done
    wait
    exit
fi

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.."
why=$(validate/lab/lab --check 2>&1) || {
    printf 'skipped: %s\n' "${why#lab: }"
    exit 77
}

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
# A copy that any user may read, for the checks without root.
cp -R validate/lab tests/validate/lab/lab_test.sh "$scratch"
chmod -R a+rX "$scratch"
lab=$scratch/lab/lab
topologies=$scratch/lab/data
export LAB_TEST_MARK=$$.$RANDOM
failed=0
unjudged=0

check() { # NAME COMMAND...
    if "${@:2}"; then
        printf 'ok      %s\n' "$1"
    else
        printf 'FAILED  %s\n' "$1"
        failed=$((failed + 1))
    fi
}

# --- rates ---

# Ticks that a hypervisor took, idle ones and all, so far.
ticks() {
    awk '/^cpu / { print $9, $5, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat
}

# Flows leave most of the machine idle: was less than half of it so, or some of it taken away?
was_busy() { # TICKS-BEFORE TICKS-AFTER
    echo "$1 $2" | awk '{ all = $6 - $3; exit !(($4 - $1) > 0.02 * all || ($5 - $2) < 0.5 * all) }'
}

# A slow rate is measured again; one that stays slow fails, unless the machine was seen to be busy:
# then it is not judged, and the whole is no pass (status 77).
check_rate() { # NAME COMMAND...
    local attempt status=0 before after
    for attempt in 1 2 3; do
        before=$(ticks)
        "${@:2}" && status=0 || status=$?
        after=$(ticks)
        [ "$status" = 2 ] || break
        sleep "$attempt"
    done
    if [ "$status" = 2 ] && was_busy "$before" "$after"; then
        printf 'busy    %s: not judged\n' "$1"
        unjudged=$((unjudged + 1))
    else
        check "$1" [ "$status" = 0 ]
    fi
}

compile_flow() {
    "${CC:-cc}" -O1 -x c -o "$scratch/flow" - <<'C'
/* One TCP connection. `receive PORT` prints its bytes and when the first and the last came;
 * `send ADDRESS PORT BYTES` waits for the receiver. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 20];

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int receive(struct sockaddr_in *at)
{
    int on = 1, door = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(door, (struct sockaddr *)at, sizeof *at) || listen(door, 1))
        return 1;
    int wire = accept(door, NULL, NULL);
    if (read(wire, buffer, 1) != 1)
        return 1;
    double start_s = now_s(), bytes = 0;
    for (ssize_t n; (n = read(wire, buffer, sizeof buffer)) > 0;)
        bytes += (double)n;
    printf("%.0f %.6f %.6f\n", bytes, start_s, now_s());
    return 0;
}

static int send_all(struct sockaddr_in *to, long bytes)
{
    int wire = socket(AF_INET, SOCK_STREAM, 0);
    for (int tries = 0; connect(wire, (struct sockaddr *)to, sizeof *to); tries++) {
        if (tries == 500)
            return 1;
        close(wire);
        usleep(10000);
        wire = socket(AF_INET, SOCK_STREAM, 0);
    }
    while (bytes > 0) {
        ssize_t n = write(wire, buffer, bytes < (long)sizeof buffer ? (size_t)bytes : sizeof buffer);
        if (n < 0)
            return 1;
        bytes -= n;
    }
    return 0;
}

int main(int count, char **words)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    if (count == 3 && !strcmp(words[1], "receive")) {
        at.sin_port = htons((uint16_t)atoi(words[2]));
        return receive(&at);
    }
    if (count != 5)
        return 2;
    at.sin_addr.s_addr = inet_addr(words[2]);
    at.sin_port = htons((uint16_t)atoi(words[3]));
    return send_all(&at, atol(words[4]));
}
C
}

flows() { # TOPOLOGY BYTES SOURCE:DESTINATION...
    timeout -k 1 20 "$lab" "$topologies/$1" -- "$scratch/lab_test.sh" --flows "$scratch/flow" "${@:2}"
}

# Every flow within 5 % of the payload's share (8948 of 9014 bytes) of BYTES_PER_S, all COUNT there.
# Status 1: faster than the link, or not all flows came; 2: slower, which a link shared with another
# flow is, and a busy machine makes.
rates_are() { # BYTES_PER_S COUNT < FLOWS
    awk -v wanted="$1" -v count="$2" '
        BEGIN { wanted *= 8948 / 9014 }
        { rate = $1 / ($3 - $2) }
        rate > 1.05 * wanted { bad = 1 }
        rate < 0.95 * wanted { slow = 2 }
        rate > 1.05 * wanted || rate < 0.95 * wanted { printf "        %.0f bytes per second, wanted %.0f\n", rate, wanted }
        END { if (NR != count) printf "        %d flows, wanted %d\n", NR, count; exit bad || NR != count ? 1 : slow }'
}

# All flows as one: a switch port serves first what comes first, so single ones may differ.
as_one() {
    awk 'NR == 1 || $2 < first { first = $2 } $3 > last { last = $3 } { bytes += $1 }
        END { if (NR) printf "%.0f %.6f %.6f\n", bytes, first, last }'
}

flows_share() { # BYTES_PER_S TOPOLOGY BYTES SOURCE:DESTINATION...
    flows "${@:2}" | as_one | rates_are "$1" 1
}

each_flow_has() { # BYTES_PER_S TOPOLOGY BYTES SOURCE:DESTINATION...
    flows "${@:2}" | rates_are "$1" $(($# - 3))
}

two_labs_at_once() {
    flows star-8 6250000 h0:h1 >"$scratch/one" &
    flows star-8 6250000 h0:h1 >"$scratch/two"
    wait $!
    cat "$scratch/one" "$scratch/two" | rates_are 12.5e6 2
}

check_rates() {
    compile_flow
    check_rate "a link of the star has its rate" each_flow_has 12.5e6 star-8 12500000 h0:h1
    check_rate "each direction has its own" each_flow_has 12.5e6 star-8 12500000 h0:h1 h1:h0
    check_rate "disjoint pairs do not meet" each_flow_has 12.5e6 star-8 6250000 h0:h1 h2:h3 h4:h5 h6:h7
    check_rate "a host's connections share its link evenly" each_flow_has 6.25e6 star-8 6250000 h0:h1 h0:h2
    check_rate "two senders share the link of the one they send to" flows_share 12.5e6 star-8 6250000 h0:h2 h1:h2
    check_rate "a node's inner links have theirs" each_flow_has 25e6 two-level-2x4 25000000 h0:h1 h2:h3
    check_rate "four hosts share the node's NIC" flows_share 12.5e6 two-level-2x4 4000000 h0:h4 h1:h5 h2:h6 h3:h7
    check_rate "inner links and NIC do not meet" flows_differ
    check_rate "two hosts share the leaf's uplink" flows_share 12.5e6 fat-tree-2to1 6250000 h0:h2 h1:h4
    check_rate "within a leaf they do not" each_flow_has 12.5e6 fat-tree-2to1 12500000 h0:h1 h2:h4
    check_rate "two labs at once do not meet" two_labs_at_once
}

flows_differ() {
    flows two-level-2x4 12500000 h0:h1 h0:h4 >"$scratch/both"
    sort -n -k 3 "$scratch/both" | head -n 1 | rates_are 25e6 1 &&
        sort -n -k 3 "$scratch/both" | tail -n 1 | rates_are 12.5e6 1
}

# --- what is wrong with a topology ---

wrong_line() { # LINE WANTED
    local base='switch s\nswitch t\nhost a 10.77.0.1\nhost b 10.77.0.2\nlink a s 1e6\nlink b s -\nlink s t -\n' status=0
    printf "$base%s\n" "$1" >"$scratch/wrong"
    "$lab" "$scratch/wrong" -- touch "$scratch/ran" 2>"$scratch/told" || status=$?
    if [ "$status" != 3 ] || [ -e "$scratch/ran" ] || [ "$(cat "$scratch/told")" != "$scratch/wrong:$2" ]; then
        echo "        status $status, told: $(cat "$scratch/told")"
        return 1
    fi
}

check_wrong_lines() {
    local line wanted
    while IFS='|' read -r line wanted; do
        check "wrong: $line" wrong_line "$line" "$wanted"
    done <<'LINES'
cable a s 1e6|8: "cable" is none of switch, host, link, route
switch|8: wanted: switch NAME
switch no/slash|8: "no/slash" is not a name: up to 63 letters, digits, ".", "-"
switch a|8: "a" is already declared in line 3
host c 10.78.0.1|8: "10.78.0.1" is not an address of 10.77.0.0/16
host c 10.77.0.256|8: "10.77.0.256" is not an address of 10.77.0.0/16
host c 10.77.0.2|8: 10.77.0.2 is already the address of "b"
host c 10.77.0.3|8: host "c" has no link
link a s 1e6|8: "a" already has a link to "s"
link a b 1e6|8: "a" and "b" are both hosts: a link needs a switch
link a x 1e6|8: no switch or host "x" is declared above
link a t fast|8: "fast" is not a rate: 1e3 to 4e9 bytes per second, or - for unshaped
link a t 1e6 1e6 9|8: "9" is not a burst: one packet or more, 9014 bytes to 1e9
link a t 1e6|3: host "a" has several links and no route to 10.77.0.2
link t s -|8: a second way between "t" and "s": bridges would repeat packets for ever
route a 10.77.0.9 s|8: no host has the address "10.77.0.9"
route a 10.77.0.2 t|8: "a" has no link to "t"
route c 10.77.0.2 s|8: no host "c" is declared above
LINES
}

# --- nothing stays ---

# What the machine shows of labs: its interfaces, addresses, mounts and named namespaces.
outside() {
    ip link show
    ip address show
    cat /proc/self/mountinfo
    ls -A /run/netns /run/lab 2>&1 || true
}

marked_processes() {
    local folder
    for folder in /proc/[0-9]*; do
        [ "${folder#/proc/}" = $$ ] || [ "${folder#/proc/}" = "$BASHPID" ] ||
            ! grep -qsaz "^LAB_TEST_KILL=$LAB_TEST_MARK$" "$folder/environ" || echo "${folder#/proc/}"
    done
}

# A namespace lives as long as a process or a mount holds it; all of the lab's processes are marked.
vanishes_after() { # SIGNAL
    local pid tries=0
    outside >"$scratch/before"
    rm -f "$scratch/up"
    # shellcheck disable=SC2016 # expands in the lab
    LAB_TEST_KILL=$LAB_TEST_MARK "$lab" "$topologies/star-8" -- sh -c '
        for host in h0 h1 h2 h3; do "$LAB_RSH" "$host" "setsid sleep 600" & done
        sleep 0.2; touch "$0"; wait' "$scratch/up" >/dev/null 2>&1 &
    pid=$!
    until [ -e "$scratch/up" ] || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
    [ "$(marked_processes | wc -l)" -gt 6 ] || { echo '        the lab did not come up'; return 1; }
    kill "-$1" "$pid"
    wait "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 30; tries++)); do
        [ -n "$(marked_processes)" ] || break
        sleep 0.1
    done
    [ -z "$(marked_processes)" ] || { echo "        still there: $(marked_processes | tr '\n' ' ')"; return 1; }
    outside | diff "$scratch/before" -
}

# --- ranks ---

compile_hello() {
    command -v mpicc >/dev/null && command -v mpirun >/dev/null || return 1
    mpicc -O1 -x c -o "$scratch/hello" - <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words)
{
    char host[65] = "";
    int rank, ranks, sum = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    gethostname(host, sizeof host - 1);
    printf("%d %s %d %s %s\n", rank, host, sum, words[1], getenv("LAB_TEST_MARK"));
    MPI_Finalize();
    return 0;
}
C
}

# Rank r says hello from host hr; environment and words arrive whole.
says_hello() { # TOPOLOGY RUN-AS...
    timeout -k 1 100 "${@:2}" "$lab" "$topologies/$1" -- "$scratch/lab/mpirun" 60 8 "$scratch/hello" \
        "it's \$1" 2>"$scratch/told" | sort -n >"$scratch/hellos"
    for rank in 0 1 2 3 4 5 6 7; do echo "$rank h$rank 28 it's \$1 $LAB_TEST_MARK"; done |
        diff - "$scratch/hellos" || { cat "$scratch/told"; return 1; }
}

ends_in_time() {
    local status=0
    "$lab" "$topologies/star-8" -- "$scratch/lab/mpirun" 1 8 sleep 60 >/dev/null 2>&1 || status=$?
    [ "$status" = 124 ]
}

# --- without root ---

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$scratch")

# True when it may; an ordinary user is its own proof.
may_go_without_root() {
    [ "$(id -u)" = 0 ] && [ "$("${nobody[@]}" "$lab" --check 2>/dev/null)" = 'user namespace' ]
}

works_without_root() {
    "${nobody[@]}" "$lab" "$topologies/star-8" -- "$scratch/lab/rsh" h3 'hostname; cat /proc/sys/net/ipv4/tcp_congestion_control' |
        diff <(printf 'h3\nreno\n') -
}

# --- all ---

passes_status() {
    local status=0
    "$lab" - -- sh -c 'exit 9' <"$topologies/star-8" || status=$?
    [ "$status" = 9 ]
}

passes_input() {
    [ "$(echo words | "$lab" "$topologies/star-8" -- cat)" = words ]
}

# Refused while the link is there, silence when it is cut.
cut_is_silent() {
    # shellcheck disable=SC2016 # expands in the lab
    "$lab" "$topologies/star-8" -- sh -c '
        knock="timeout 1 bash -c \"</dev/tcp/h1/9\" 2>/dev/null; echo \$?"
        "$LAB_RSH" h0 "$knock"; "$LAB_RSH" h0 "$0 h1"; "$LAB_RSH" h0 "$knock"; "$LAB_RSH" h2 "$0 h9 2>/dev/null; echo \$?"' \
        "$scratch/lab/cut" | diff <(printf '1\n124\n2\n') -
}

check_wrong_lines
check "a cut link is silent" cut_is_silent
check "the command's status is the lab's" passes_status
check "the command's input is the lab's" passes_input
for signal in KILL TERM; do
    check "nothing stays after SIG$signal" vanishes_after "$signal"
done
check_rates
if compile_hello; then
    check "eight ranks say hello" says_hello star-8 env
    check "eight ranks on two levels" says_hello two-level-2x4 env
    check "a run that hangs is ended" ends_in_time
else
    echo 'skipped Open MPI: not installed'
fi
if may_go_without_root; then
    check "works without root" works_without_root
    [ ! -e "$scratch/hello" ] || check "eight ranks without root" says_hello star-8 "${nobody[@]}"
fi
[ "$failed" = 0 ] || {
    printf '%d checks failed\n' "$failed"
    exit 1
}
[ "$unjudged" = 0 ] || {
    printf 'skipped: %d rates were not judged, the machine was busy\n' "$unjudged"
    exit 77
}
