#!/usr/bin/env bash
# Ping-pong: between two nodes of a GPU cluster, and in a lab that only writes down what it is asked.
pings() { # LATENCY PER_BYTE [SOURCE DESTINATION]
    echo kind,source,destination,bytes,seconds
    awk -v latency="$1" -v per_byte="$2" -v pair="${3:-0},${4:-8}" 'BEGIN {
        for (bytes = 4; bytes <= 1048576; bytes *= 4)
            for (i = 0; i < 5; i++)
                printf "trip,%s,%d,%.6g\n", pair, bytes, latency + per_byte * bytes }'
}
pings 1e-5 2.5e-11 >two.csv
rehearse calibrate -p dgx-h100:2 --from two.csv -o two.json
echo "exit $?"
rehearse check two.json
grep -c messages two.json
# Tables that are no text, or endless.
printf 'kind,source\0' >nul.csv
iconv -t UTF-16 two.csv >utf16.csv
for file in nul.csv utf16.csv /dev/zero; do
    rehearse calibrate -p dgx-h100:2 --from "$file" 2>&1
    echo "exit $?"
done
pings 1e-4 1e-7 0 1 >star.csv
rehearse calibrate -p lab-star --from star.csv --timeout 1ms 2>&1
echo "exit $?"
# A platform of one's own keeps its path.
mkdir -p data/validate/lab path
ln -s "${REHEARSE_DATA:-$CASES/../..}/platforms" data/platforms
sed 's/"name": "lab-star"/"name": "mine"/' data/platforms/data/clusters/lab-star.json >my.json
cat >data/validate/lab/lab <<END
#!/bin/sh
[ "\$1" != --check ] || { echo root; exit 0; }
for word in "\$@"; do
    case \$word in
    --platform=*) echo "\$word" >asked ;;
    --pingpong=*) cp star.csv "\${word#*=}" ;;
    esac
done
END
printf '#!/bin/sh\n' >path/mpirun
chmod +x data/validate/lab/lab path/mpirun
REHEARSE_DATA=$PWD/data PATH=$PWD/path:$PATH rehearse calibrate -p ./my.json --run pingpong -o x.json
echo "exit $?"
cat asked
