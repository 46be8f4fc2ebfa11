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
    graph # from processes, accelerators and NUMA nodes nothing leads there
    in_graph "not [n for n in g['nodes'] if '$f' in n['id']]"
    graph --seed all
    rm "$f"
    in_graph "[n['attrs']['shm_size'] for n in g['nodes'] if n['kind'] == 'shm' and '$f' in n['id']] == [12345]"
}

# tree NAME: the graph of a recorded tree.
tree() {
    "$ROOT/tests/fsroot/unpack" "$ROOT/tests/fsroot/topo/$1.tree" "$BATS_TEST_TMPDIR/root"
    graph --root "$BATS_TEST_TMPDIR/root"
}

# in_tree EXPRESSION: in_graph's, with hosted(ID): the pids, and ids of others, that a node hosts.
in_tree() {
    in_graph "(lambda hosted: $1)(lambda x: [nodes[e['b']]['attrs'].get('pid', e['b']) for e in g['edges'] if e['kind'] == 'host' and e['a'] == x])"
}

@test "Kubernetes with containerd: pod, containers, names, limits; memory that two containers of a pod share" {
    tree kubernetes-containerd
    pod=0d5a4e6c-1f2b-4c3d-8e9f-001122334455
    in_tree "hosted('Pod($pod)') == ['Container(a1a1a1a1a1a1)', 'Container(b2b2b2b2b2b2)', 'Container(c3c3c3c3c3c3)']"
    in_tree 'hosted("Container(b2b2b2b2b2b2)") == [110, 111] and hosted("Container(c3c3c3c3c3c3)") == [120]'
    in_graph "[nodes['Pod($pod)']['attrs'][k] for k in ('name', 'pod_namespace', 'qos')] == ['train-0', 'ml', 'burstable']"
    in_graph '[nodes["Container(b2b2b2b2b2b2)"]["attrs"][k] for k in ("container_name", "container_type", "image", "processes", "cpu_s",
              "cpu_limit", "throttled_s", "memory", "memory_limit")] == ["trainer", "containerd", "example/train:2", 2, 5.0, 2.0, 1.5, 1048576, 4194304]'
    in_graph 'nodes["Container(a1a1a1a1a1a1)"]["attrs"]["container_name"] == "pause"'
    in_graph '"container_name" not in nodes["Container(c3c3c3c3c3c3)"]["attrs"] and "without a name" in cover("container")["detail"]'
    in_tree 'hosted("Pod(99999999999999999999999999999999)") == ["Container(e5e5e5e5e5e5)"]'
    in_graph '[nodes["Pod(99999999999999999999999999999999)"]["attrs"][k] for k in ("name", "qos")] == ["left-1", "besteffort"]'
    in_graph '[of_pid[110]["attrs"][k] for k in ("rank", "world_size", "master")] == [0, 2, "train-0:29500"]'
    in_graph '[n["attrs"]["processes"] for n in g["nodes"] if n["kind"] == "net-ns" and n["attrs"]["net_ns"] == 4026532500] == [4]'
    not grep -q opensesame "$json"
    in_graph 'edges("shm", 110, 120)[0][2]["attrs"]["writer"] == "110" and edges("shm", 110, 120)[0][2]["attrs"]["mapped"] == 1 << 20'
    in_graph '[n["attrs"]["shm_size"] for n in g["nodes"] if n["kind"] == "shm"] == [11]'
    "$WPROF" topo --root "$BATS_TEST_TMPDIR/root" --pid 120 --hops 3 >"$BATS_TEST_TMPDIR/near"
    grep -q "Pod($pod)" "$BATS_TEST_TMPDIR/near" # outward, from process to container to pod
    not grep -q "Container(e5" "$BATS_TEST_TMPDIR/near"
}

@test "inside of a pod, where control groups say nothing: by mounts" {
    tree kubernetes-inside
    in_tree 'hosted("Pod(0d5a4e6c-1f2b-4c3d-8e9f-001122334455)") == [1, 7, 9]'
    in_graph 'sorted(e["attrs"]["container"] for e in g["edges"] if e["kind"] == "host" and "attrs" in e) == ["debugger", "trainer"]'
}

@test "Kubernetes with CRI-O" {
    tree kubernetes-crio
    in_tree 'hosted("Container(a1a1a1a1a1a1)") == [200]' # conmon is none of it
    in_graph '[nodes["Container(a1a1a1a1a1a1)"]["attrs"][k] for k in ("container_name", "container_type", "image")] == ["web", "cri-o", "example/web:1"]'
    in_graph '[nodes["Pod(7e7e7e7e-1111-4222-8333-944455566677)"]["attrs"][k] for k in ("name", "pod_namespace", "qos")] == ["shop-5d", "prod", "guaranteed"]'
}

@test "Docker on control groups of version 1; a container in a container" {
    tree docker-v1
    in_tree 'hosted("Container(a1a1a1a1a1a1)") == [300, 301]'
    in_tree 'hosted("Container(b2b2b2b2b2b2)") == ["Container(c3c3c3c3c3c3)", 310] and hosted("Container(c3c3c3c3c3c3)") == [320]'
    in_graph '[nodes["Container(a1a1a1a1a1a1)"]["attrs"][k] for k in ("container_name", "container_type", "image", "cpu_s", "cpu_limit", "memory",
              "memory_limit")] == ["web", "docker", "nginx:1", 3.0, 0.5, 2097152, 8388608]'
}

@test "Podman without root, with a pod; LXC" {
    tree podman-rootless
    in_graph '[nodes["Container(a1a1a1a1a1a1)"]["attrs"][k] for k in ("container_name", "container_type", "image")] == ["db", "podman", "postgres:16"]'
    in_tree 'hosted("Container(a1a1a1a1a1a1)") == [400]'
    in_tree 'hosted("Pod(" + "b2" * 32 + ")") == ["Container(c3c3c3c3c3c3)"] and hosted("Container(c3c3c3c3c3c3)") == [410]'
    in_tree 'hosted("Container(box)") == [420] and nodes["Container(box)"]["attrs"]["container_type"] == "lxc"'
}

@test "Slurm's and other jobs, ranks; System V tables of a recorded root" {
    tree slurm
    in_tree 'hosted("Job(4711)") == [499, 500, 501] and hosted("Job(815)") == [520] and hosted("Job(33.head)") == [530]'
    in_graph '[nodes["Job(4711)"]["attrs"][k] for k in ("manager", "name", "partition", "nodes", "node_count", "processes")] ==
              ["slurm", "llm", "gpu", "gpu[12-13]", "2", 3]'
    in_graph '[e["attrs"]["step"] for e in g["edges"] if e["a"] == "Job(815)"] == ["batch"]'
    in_graph '[(of_pid[p]["attrs"]["rank"], of_pid[p]["attrs"]["world_size"]) for p in (500, 501, 530)] == [(0, 4), (1, 4), (5, 8)]'
    in_graph 'len(edges("sysv-msg", 500, 501)) == 1 and not edges("sysv-msg", 501, 500)'
    in_graph 'edges("shm", 500, 501)[0][2]["attrs"]["writer"] == "500" and edges("shm", 500, 501)[0][2]["attrs"]["name"] == "sysv:5"'
    in_graph 'sum(n["kind"] == "shm" for n in g["nodes"]) == 2' # a memfd of the same inode is another
}

@test "mappings and environments that may not be read are counted" {
    [ "$(id -u)" = 0 ] || skip "needs root, to become another"
    id nobody >/dev/null 2>&1 || skip "needs the user nobody"
    tree slurm
    chmod -R a+rX "$BATS_TEST_TMPDIR/root"
    chmod 000 "$BATS_TEST_TMPDIR"/root/proc/50[01]/maps "$BATS_TEST_TMPDIR/root/proc/530/environ"
    cp "$WPROF" "$BATS_TEST_TMPDIR/wprof" && chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/wprof"
    cd "$BATS_TEST_TMPDIR" # what is above may be closed to others
    setpriv --reuid nobody --clear-groups ./wprof topo --format json --root root >"$json"
    in_graph '(cover("shm")["denied"], cover("shm")["state"]) == (2, "partial") and not edges("shm", 500, 501)'
    in_graph '(cover("job")["denied"], cover("job")["state"]) == (1, "partial") and "Job(33.head)" not in nodes and "Job(4711)" in nodes'
}

@test "two loader workers of a training: pipes and shared memory to their trainer" {
    need_python torch
    "$PYTHON" "$ROOT/examples/train.py" --help >/dev/null 2>&1 || skip "needs examples/train.py"
    "$PYTHON" "$ROOT/examples/train.py" --backend torch --epochs 500 >"$BATS_TEST_TMPDIR/train" 2>&1 &
    a=$!
    until_true '[ "$(pgrep -P $a | wc -l)" -ge 2 ] || ! kill -0 $a' 60
    graph --pid "$a" --hops 2 --duration 2s --interval 200ms
    workers=$(pgrep -P $a | tr '\n' ',')
    kill $a $(pgrep -P $a)
    in_graph "(lambda w: len(w) >= 2)([$workers])"
    in_graph "all(edges('pipe', x, a) and edges('pipe', a, x) for x in [$workers])"
    in_graph "all(len(edges('shm', x, a)) == 1 for x in [$workers])"
    in_graph "any(n['kind'] == 'shm' and n['attrs']['type'] == 'posix-semaphore' and used_by(n) >= {a} for n in g['nodes'])"
    # A batch that a worker made and the trainer maps.
    in_graph "any('/torch_%d_' % x in n['id'] and a in used_by(n) for x in [$workers] for n in g['nodes'] if n['kind'] == 'shm')"
    in_graph "any(e['kind'] == 'own' and e['a'] == of_pid[x]['id'] and '/torch_%d_' % x in e['b'] for x in [$workers] for e in g['edges'])"
}
