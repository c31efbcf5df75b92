# Reads a topology (its lines are described in `lab`), prints what makes it, one step a line:
#   ip|tc WHERE COMMAND     for `ip -batch` and `tc -batch` in host WHERE; - = the lab's own namespace
#   hosts - LINE            for /etc/hosts
#   hostfile - LINE         for mpirun
#   ports - HOST DEVICE     where a host's link ends at its switch
# A wrong line ends it: FILE:LINE: what is wrong, exit 3. Variables: name (of the file), MTU, BURST,
# LIMIT (of a queue).

function wrong(line, text) {
    printf "%s:%d: %s\n", name, line, text >"/dev/stderr"
    failed = 1
    exit 3
}

function need(fields, usage) {
    if (NF != fields)
        wrong(FNR, "wanted: " usage)
}

function declare(node) {
    if (length(node) > 63 || node !~ /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/)
        wrong(FNR, "\"" node "\" is not a name: up to 63 letters, digits, \".\", \"-\"")
    if (node in line_of)
        wrong(FNR, "\"" node "\" is already declared in line " line_of[node])
    line_of[node] = FNR
}

function check_known(node) {
    if (!(node in line_of))
        wrong(FNR, "no switch or host \"" node "\" is declared above")
}

function check_address(address,    part, i) {
    if (address !~ /^10\.77\.[0-9]+\.[0-9]+$/)
        wrong(FNR, "\"" address "\" is not an address of 10.77.0.0/16")
    split(address, part, ".")
    for (i = 3; i <= 4; i++)
        if (part[i] != part[i] + 0 "" || part[i] > 255)
            wrong(FNR, "\"" address "\" is not an address of 10.77.0.0/16")
    if (address == "10.77.0.0" || address == "10.77.255.255")
        wrong(FNR, "\"" address "\" is not a host's: it is the network's own")
    if (address in host_at)
        wrong(FNR, address " is already the address of \"" host_at[address] "\"")
}

# The switch that stands for all that are linked to this one.
function root_of(node) {
    while (node in parent)
        node = parent[node]
    return node
}

function join_switches(a, b) {
    if (root_of(a) == root_of(b))
        wrong(FNR, "a second way between \"" a "\" and \"" b "\": bridges would repeat packets for ever")
    parent[root_of(a)] = root_of(b)
}

# One end of a link; a host's are eth0, eth1 ... in the order of the lines.
function end_of(node, other, side,    device) {
    if (!(node in address_of))
        return "l" (links + 0) side
    if ((node, other) in device_to)
        wrong(FNR, "\"" node "\" already has a link to \"" other "\"")
    device = "eth" (links_of[node] + 0)
    links_of[node]++
    switch_of[node, links_of[node]] = other
    device_to[node, other] = device
    return device
}

function where(node) {
    return node in address_of ? node : "-"
}

function place(node) {
    return node in address_of ? " netns " node : ""
}

# What goes into a link at one of its ends: packets, one by one. Left to itself, TCP hands down up to
# 64 kB at a time and the first connection keeps the link for 100 ms (see SETTINGS in `lab`).
function raise(node, device, rate, burst) {
    if (!(node in address_of))
        print "ip - link set dev " device " master " bridge_of[node]
    print "ip " where(node) " link set dev " device " gso_max_segs 1 up"
    if (rate != "-")
        printf "tc %s qdisc add dev %s root tbf rate %.0fbps burst %d limit %d\n", where(node),
            device, rate, burst, LIMIT
}

function link(a, b, there, back, burst,    ours, theirs) {
    ours = end_of(a, b, "a")
    theirs = end_of(b, a, "b")
    links++
    printf "ip - link add dev %s mtu %d%s type veth peer name %s mtu %d%s\n", ours, MTU, place(a),
        theirs, MTU, place(b)
    raise(a, ours, there, burst)
    raise(b, theirs, back, burst)
    if (a in address_of)
        print "ports - " a " " theirs
    if (b in address_of)
        print "ports - " b " " ours
}

function check_ends(a, b) {
    check_known(a)
    check_known(b)
    if (a == b)
        wrong(FNR, "\"" a "\" is linked to itself")
    if (a in address_of && b in address_of)
        wrong(FNR, "\"" a "\" and \"" b "\" are both hosts: a link needs a switch")
    if (!(a in address_of) && !(b in address_of))
        join_switches(a, b)
}

function check_rate(rate) {
    if (rate != "-" && (rate !~ /^[0-9]+(\.[0-9]+)?([eE]\+?[0-9]+)?$/ || rate < 1000 || rate > 4e9))
        wrong(FNR, "\"" rate "\" is not a rate: 1e3 to 4e9 bytes per second, or - for unshaped")
}

function check_burst(burst) {
    if (burst !~ /^[0-9]+$/ || burst < MTU + 14 || burst > 1e9)
        wrong(FNR, "\"" burst "\" is not a burst: one packet or more, " MTU + 14 " bytes to 1e9")
}

{ sub(/#.*/, "") }
NF == 0 { next }

$1 == "switch" {
    need(2, "switch NAME")
    declare($2)
    bridge_of[$2] = "s" (switches++ + 0)
    print "ip - link add dev " bridge_of[$2] " mtu " MTU " type bridge mcast_snooping 0 ageing_time 8640000"
    print "ip - link set dev " bridge_of[$2] " up"
    next
}

$1 == "host" {
    need(3, "host NAME ADDRESS")
    declare($2)
    check_address($3)
    address_of[$2] = $3
    host_at[$3] = $2
    hosts[++host_count] = $2
    print "ip - netns add " $2
    print "ip " $2 " link set lo up"
    print "hosts - " $3 " " $2
    print "hostfile - " $2 " slots=1"
    next
}

$1 == "link" {
    if (NF != 5 && NF != 6)
        need(4, "link A B BYTES_PER_S [BYTES_PER_S_BACK [BURST_BYTES]]")
    back = NF > 4 ? $5 : $4
    burst = NF > 5 ? $6 : BURST
    check_ends($2, $3)
    check_rate($4)
    check_rate(back)
    check_burst(burst)
    link($2, $3, $4, back, burst)
    next
}

$1 == "route" {
    need(4, "route HOST ADDRESS SWITCH")
    if (!($2 in address_of))
        wrong(FNR, "no host \"" $2 "\" is declared above")
    if (($2, $3) in route_line)
        wrong(FNR, "\"" $2 "\" already has a route to " $3 " in line " route_line[$2, $3])
    route_line[$2, $3] = FNR
    route_host[++routes] = $2
    route_address[routes] = $3
    route_switch[routes] = $4
    next
}

{ wrong(FNR, "\"" $1 "\" is none of switch, host, link, route") }

# Routes are looked at when all hosts and links are known.
function add_route(i,    host, address, line) {
    host = route_host[i]
    address = route_address[i]
    line = route_line[host, address]
    if (!(address in host_at))
        wrong(line, "no host has the address \"" address "\"")
    if (host_at[address] == host)
        wrong(line, "\"" host "\" has the address " address " itself")
    if (!((host, route_switch[i]) in device_to))
        wrong(line, "\"" host "\" has no link to \"" route_switch[i] "\"")
    print "ip " host " route add " address "/32 dev " device_to[host, route_switch[i]] " src " address_of[host]
}

# Its address stands on its first link only, else Open MPI would take two links for two networks;
# ARP answers for it on all. Without routes of its own, all are behind the only link.
function address_host(host,    i) {
    if (!(host in links_of))
        wrong(line_of[host], "host \"" host "\" has no link")
    print "ip " host " address add " address_of[host] "/16 dev eth0" (links_of[host] > 1 ? " noprefixroute" : "")
    for (i = 1; links_of[host] > 1 && i <= host_count; i++)
        if (hosts[i] != host && !((host, address_of[hosts[i]]) in route_line))
            wrong(line_of[host], "host \"" host "\" has several links and no route to " address_of[hosts[i]])
}

END {
    if (failed)
        exit 3
    if (host_count == 0)
        wrong(FNR, "there is no host")
    for (i = 1; i <= host_count; i++)
        address_host(hosts[i])
    for (i = 1; i <= routes; i++)
        add_route(i)
}
