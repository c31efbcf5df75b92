#!/usr/bin/env bash
# A rehearsal that does not end in time: the answer is no, in a sentence.
rehearse simulate -w llama-3.1-70b -p dgx-h100:8 --global-batch 512 --seq 8192 -s tp4,pp8 --unfolded \
    --timeout 2ms 2>&1
echo "exit $?"
# JSON is a document all the same.
rehearse simulate -w llama-3.1-70b -p dgx-h100:8 --global-batch 512 --seq 8192 -s tp4,pp8 --unfolded \
    --timeout 2ms --json 2>/dev/null | grep -E '"(schema|step_time_s|timed_out|reason)"'
# What is deaf to it ends a while later: nobody writes into this pipe.
mkfifo pipe
timeout 60 "$REHEARSE" calibrate -p lab-star --from pipe --timeout 100ms 2>&1
echo "exit $?"
# A file that cannot be written: the answer stands before the error.
rehearse simulate -w llama-3.1-70b -p dgx-h100:16 --global-batch 2048 --seq 2048 -s tp8,pp16,vpp5 -o x.trace.json.gz \
    >out.txt 2>error.txt
echo "exit $?"
head -n 1 out.txt
cat error.txt
ls
# All stacks share the time; each had all of it.
SECONDS=0
rehearse plan -w llama-3.1-405b -p dgx-h100:128 --global-batch 1024 --seq 8192 --stack any --timeout 2s >/dev/null 2>&1
[ "$SECONDS" -lt 5 ] && echo 'within 5 s'
