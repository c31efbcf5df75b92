#!/usr/bin/env bash
# What `sweep --emit slurm` writes, run by Slurm: a controller and a node of the test's own, of eight processors whatever there
# are. The array and the srun line give the table of one process, also where tasks are requeued, cancelled or told to leave.
#
#   tests/sweep/slurm_test.sh REHEARSE
#
# Skipped (77) where Slurm or MUNGE are absent, or do not start (Debian: apt-get install slurm-wlm munge; as root).
set -euo pipefail
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
rehearse=$(realpath -- "$1")
export PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sbatch srun; do
    command -v "$program" >/dev/null || {
        echo "skipped: no $program here"
        exit 77
    }
done
scratch=$(mktemp -d)
# Ends a daemon of ours by the number that it wrote.
end_daemon() { [ ! -s "$scratch/$1.pid" ] || kill "$(cat "$scratch/$1.pid")" 2>/dev/null || true; }
end_all() {
    scancel --user=root >/dev/null 2>&1 || true
    for daemon in slurmd slurmctld munged; do end_daemon "$daemon"; done
    sleep 0.5
    rm -rf -- "$scratch"
}
trap end_all EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
cd -- "$scratch"
chmod 755 .
node=$(hostname -s)
port=$((20000 + RANDOM % 20000))
head -c 128 /dev/urandom >munge.key
chmod 600 munge.key
mkdir state spool bin
cat >slurm.conf <<END_OF_CONF
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$scratch/munge.socket
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
KillWait=5
NodeName=$node NodeAddr=127.0.0.1 CPUs=8
PartitionName=all Nodes=ALL Default=YES
END_OF_CONF
export SLURM_CONF=$scratch/slurm.conf REHEARSE_DATA=$tree
munged --force --key-file="$scratch/munge.key" --socket="$scratch/munge.socket" --pid-file="$scratch/munged.pid" \
    --log-file="$scratch/munged.log" --seed-file="$scratch/munge.seed" >start.log 2>&1 || true
slurmctld -f "$SLURM_CONF" >>start.log 2>&1 || true
slurmd -f "$SLURM_CONF" >>start.log 2>&1 || true
for _ in $(seq 50); do
    [ "$({ sinfo -h -o %T || true; } 2>/dev/null)" != idle ] || break
    sleep 0.2
done
timeout 20 srun -n 1 true >>start.log 2>&1 || {
    echo "skipped: Slurm starts nothing here"
    tail -n 3 start.log
    exit 77
}

ln -s "$rehearse" bin/rehearse
export PATH=$scratch/bin:$PATH
cp "$tree/tests/cli/inputs/tiny-llama.json" "$tree/tests/cli/inputs/two-nodes.json" .
cat >study.json <<'END'
{"schema": "rehearse.study/1", "command": "simulate",
 "options": {"workload": "tiny-llama.json", "platform": "two-nodes.json", "seq": "1k", "strategy": "tp{tp},pp4,mb1"},
 "axes": [{"global-batch": {"from": 1024, "to": 1504, "plus": 16}}, {"tp": [1, 2]}]}
END
questions=62
rehearse sweep study.json --folder one -q >/dev/null
rehearse sweep merge study.json --folder one >one.csv
# Answers in folder $1.
answers() { { cat "$1"/*.jsonl 2>/dev/null || true; } | grep -c '^{"key"' || true; }
# Checks that the table of folder $1 is that of one process, and that no more than $2 questions were asked twice.
check() {
    rehearse sweep merge study.json --folder "$1" | cmp - one.csv || fail "$1: $(tail -n 4 slurm-*.out)"
    [ "$(answers "$1")" -le $((questions + $2)) ] || fail "$1: $(answers "$1") answers to $questions questions"
}
# Submits the array of folder $1 in four parts and waits for some answers; its number is in $job.
begin() {
    rehearse sweep study.json --folder "$1" --shard 1/4 --emit slurm >script
    local before
    before=$(answers "$1")
    job=$(sbatch --parsable script)
    for _ in $(seq 400); do
        [ "$(answers "$1")" -le $((before + 6)) ] || break
        sleep 0.05
    done
}
# Waits until no job is left; what was requeued need not wait for its minutes.
settle() {
    for _ in $(seq 600); do
        [ -n "$(squeue -h)" ] || return 0
        squeue -h -t PENDING -o %A | while read -r pending; do
            scontrol update "JobId=$pending" StartTime=now >/dev/null 2>&1 || true
        done
        sleep 0.2
    done
    fail "jobs do not end: $(squeue)"
}

begin array
settle
check array 0
[ "$(find array -name '*.jsonl' | wc -l)" = 4 ] || fail "four tasks, and $(find array -name '*.jsonl' | wc -l) journals"
line=$(sed -n 's/.*instead: \(srun .*\),$/\1/p' script)
echo "an array of four tasks: the table of one process"
begin 'two words'
settle
check 'two words' 0
begin requeued
scontrol requeue "${job}_2"
settle
check requeued 0
grep -q 'known before' "slurm-${job}_2.out" || fail "not requeued in time: $(cat "slurm-${job}_2.out")"
echo "a task requeued: what was under way was ended, the rest went on by itself"
begin cancelled
scancel "$job"
settle
[ "$(answers cancelled)" -lt "$questions" ] || fail "not cancelled in time"
begin cancelled
scancel --batch --signal=TERM "${job}_1"
scancel --batch --signal=USR1 "${job}_2"
settle
begin cancelled
settle
check cancelled 0
echo "an array cancelled, and tasks told to leave by TERM and USR1: what was under way was ended, sbatch again goes on"
begin killed
scontrol listpids | awk '$1 ~ /^[0-9]+$/ && $1 > 1 { print $1 }' >pids
kill -9 "$(head -n 1 pids)"
settle
begin killed
settle
check killed 1
echo "a process of a task killed with -9: sbatch again goes on"
# The line that the script names in its place.
eval "${line//array/steps}" >steps.log 2>&1
check steps 0
[ "$(find steps -name '*.jsonl' | wc -l)" = 4 ] || fail "four ranks of srun, and $(find steps -name '*.jsonl' | wc -l) journals"
echo "$line: the table of one process"
