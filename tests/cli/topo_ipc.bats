#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common
load topo

# shm_is NAME-PART SIZE A-MODE B-MODE WRITER: the one memory of such a name that both have, how each maps it, what joins them.
shm_is() {
    in_graph "(lambda m: len(m) == 1
        and m[0]['attrs']['shm_size'] == $2
        and use(a, m[0])['mode'] == '$3' and use(b, m[0])['mode'] == '$4'
        and use(a, m[0])['mapped'] == use(b, m[0])['mapped'] == $2
        and len(edges('shm', a, b)) == len(edges('shm', b, a)) == 1
        and edges('shm', a, b)[0][2]['attrs']['mapped'] == $2
        and edges('shm', a, b)[0][2]['attrs']['writer'] == $5
        and edges('shm', a, b)[0][2]['confidence'] == 1
        )([n for n in g['nodes'] if n['kind'] == 'shm' and '$1' in n['id'] and used_by(n) >= {a, b}])"
}

@test "shared memory: POSIX, memfd, without a name; its size, who maps it how, from both ends" {
    talk shm
    graph
    shm_is wprof-talk- 65536 'read, write' 'read, write' "'both'"
    in_graph 'any(n["kind"] == "shm" and n["attrs"]["type"] == "posix" and use(a, n)["descriptors"] == 1 for n in g["nodes"] if a in used_by(n))'
    talk memfd
    graph
    shm_is memfd:wprof-talk 65536 'read, write' 'read, write' "'both'"
    talk memfd-read
    graph
    shm_is memfd:wprof-talk 65536 'read, write' read 'str(a)'
    talk anonymous
    graph
    in_graph 'edges("shm", a, b)[0][2]["attrs"]["mapped"] == 65536'
}

@test "a memfd passed by SCM_RIGHTS, whose receiver keeps only the mapping" {
    talk memfd-passed
    graph
    shm_is memfd:wprof-passed 65536 'read, write' read 'str(a)'
    in_graph '(lambda m: "descriptors" in use(a, m) and "descriptors" not in use(b, m))(
              [n for n in g["nodes"] if n["kind"] == "shm" and "wprof-passed" in n["id"] and a in used_by(n)][0])'
    graph --pid "$b" --hops 1 # and so it is from there
    in_graph 'len(edges("shm", a, b)) == 1'
}

@test "maps read as text tells the same" {
    talk shm
    graph --root / # not this machine for wprof: files alone
    in_graph 'len(edges("shm", a, b)) == 1 and edges("shm", a, b)[0][2]["attrs"]["writer"] == "both"'
    in_graph '"were not looked into" in cover("shm")["detail"]'
}

@test "System V: memory, with its maker; messages, with their direction; semaphores" {
    [ -e /proc/sysvipc/msg ] || skip "needs a kernel with System V IPC"
    talk sysv-shm
    graph
    shm_is "name=sysv:$id," 8192 'read, write' read 'str(a)'
    in_graph "[n['attrs']['attached'] for n in g['nodes'] if 'name=sysv:$id,' in n['id'] and a in used_by(n)] == [2]"
    in_graph "any(e['kind'] == 'own' and 'name=sysv:$id,' in e['b'] and nodes[e['a']]['attrs']['pid'] == nodes[of_pid[a]['id']]['attrs']['ppid']
                  for e in g['edges'])"
    talk sysv-msg 100
    graph
    in_graph "len(edges('sysv-msg', a, b)) == 1 and not edges('sysv-msg', b, a)"
    in_graph "[(n['attrs']['messages'], n['attrs']['bytes'], use(a, n)['use'], use(b, n)['use'])
               for n in g['nodes'] if n['kind'] == 'sysv-msg' and a in used_by(n)] == [(2, 200, 'sent last', 'received last')]"
    talk sysv-sem
    graph
    in_graph "len(edges('sysv-sem', a, b)) == 1"
    in_graph "[n['attrs']['semaphores'] for n in g['nodes'] if n['kind'] == 'sysv-sem' and used_by(n) == {a, b}] == [3]"
}

@test "who waits for a System V message" {
    [ -r /proc/self/syscall ] && [ "$(id -u)" = 0 ] || skip "needs root, and a kernel that tells the system call"
    talk sysv-wait 50
    until_true "grep -q '^[0-9]' /proc/$b/syscall"
    graph
    in_graph "len(edges('sysv-msg', a, b)) == 1"
    in_graph "[(n['attrs']['messages'], use(b, n)['use']) for n in g['nodes'] if n['kind'] == 'sysv-msg' and b in used_by(n)] == [(1, 'waits to receive')]"
}

@test "a POSIX message queue: direction, what is in it" {
    talk mq 100 || skip "needs POSIX message queues"
    graph
    in_graph 'len(edges("mqueue", a, b)) == 1 and not edges("mqueue", b, a)'
    in_graph "used_by(nodes['MessageQueue($name)']) == {a, b}"
    [ "$(id -u)" = 0 ] || skip "needs root, to see what is in it"
    in_graph "[nodes['MessageQueue($name)']['attrs'][k] for k in ('messages', 'max_messages')] == [1, 10]"
}

@test "two IPC namespaces: each has its own queue 0" {
    unshare -i true 2>/dev/null || skip "needs root, for IPC namespaces"
    [ -e /proc/sysvipc/msg ] || skip "needs a kernel with System V IPC"
    first=$(mktemp) second=$(mktemp)
    for f in "$first" "$second"; do
        mkfifo "$f.out"
        exec {fd}> >(exec unshare -i "$PYTHON" "$ROOT/tests/workloads/talk.py" sysv-msg 10 >"$f.out")
        talkers+=("$fd")
        read -r -t 30 line <"$f.out"
        echo "$line" >"$f"
    done
    graph
    for f in "$first" "$second"; do
        eval "$(cat "$f")"
        [ "$id" = 0 ]
        in_graph 'len(edges("sysv-msg", a, b)) == 1'
        in_graph 'len({n["id"] for n in g["nodes"] if n["kind"] == "sysv-msg" and used_by(n) == {a, b} and ",ipc=" in n["id"]}) == 1'
    done
}

@test "memory in /dev/shm that nobody has open is listed, with its size" {
    [ -w /dev/shm ] || skip "needs /dev/shm"
    f=$(mktemp /dev/shm/wprof-left-XXXXXX)
    head -c 12345 /dev/zero >"$f"
    graph
    rm "$f"
    in_graph "[n['attrs']['shm_size'] for n in g['nodes'] if n['kind'] == 'shm' and '$f' in n['id']] == [12345]"
}
