#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# wprof doctor: every answer from a made-up machine (tests/fsroot/doctor), and this machine as root and as nobody.
load common

setup() {
    D=$(mktemp -d)
    chmod 755 "$D"
}

teardown() {
    rm -rf "$D"
}

# doctor TREE [OPTION...]: of that machine, in $output and $status; warnings go to the log.
doctor() {
    [ -e "$D/$1" ] || "$ROOT/tests/fsroot/unpack" "$ROOT/tests/fsroot/doctor/$1.tree" "$D/$1"
    run --separate-stderr "$WPROF" doctor --root "$D/$1" "${@:2}"
}

# asked TREE 'EXPRESSION'...: each true of `doctor --json`: t[A] a tier, i[ID] an item, d the document.
asked() {
    local tree=$1
    shift
    doctor "$tree" --json
    python3 - "$output" "$status" "$@" <<'END'
import json, sys
d = json.loads(sys.argv[1])
t = {x["tier"]: x for x in d["tiers"]}
i = {x["id"]: x for x in d["items"]}
status = int(sys.argv[2])
works = [x["tier"] for x in d["tiers"] if x["in_build"] and x["state"] in ("ok", "limited")]
assert d["records"] == bool(works) and d["tier"] == (works or [None])[0] and status == (0 if works else 3), d
for e in sys.argv[3:]:
    if not eval(e):
        sys.exit("does not hold: %s\n%s" % (e, json.dumps([d["tiers"], i], indent=1)))
END
}

need_bpf_build() {
    "$WPROF" version | grep -qE '^  bpf +yes' || skip "needs a wprof built with BPF"
}

# ---- made-up machines ----

@test "root on an ordinary machine: everything" {
    need_bpf_build
    asked root 'status == 0' 'd["records"] is True' 'd["tier"] == "A"' 't["A"]["state"] == "ok"' \
        't["A"]["grant"] is None' 'all(x["state"] == "ok" for k, x in i.items() if k != "gpu")'
}

@test "stock Debian, an ordinary user: paranoid 3 refuses all events" {
    asked debian-user 't["A"]["state"] == "no"' '"CAP_BPF" in t["A"]["why"]' 't["A"]["grant"] == "sudo wprof record ..."' \
        't["B"]["state"] == "no"' 't["B"]["grant"] == "sudo sysctl kernel.perf_event_paranoid=2"' \
        't["C"]["state"] == "limited"' 'i["perf_events"]["state"] == "no"' 'i["seccomp"]["state"] == "ok"' \
        'i["capabilities"]["grant"].startswith("sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog,cap_checkpoint_restore+ep ")'
}

@test "Debian with the capabilities on the file: paranoid 3 refuses them too" {
    asked debian-setcap 't["A"]["state"] == "no"' '"even with CAP_PERFMON" in t["A"]["why"]' \
        't["A"]["grant"] == "sudo sysctl kernel.perf_event_paranoid=2"' 'i["capabilities"]["state"] == "ok"'
}

@test "Ubuntu, an ordinary user: paranoid 4, and Yama keeps to own children" {
    asked ubuntu-user 't["B"]["state"] == "no"' '"perf_event_paranoid 4" in t["B"]["why"]' 't["C"]["state"] == "limited"' \
        'i["memory"]["state"] == "limited"' 'i["memory"]["grant"] == "sudo sysctl kernel.yama.ptrace_scope=0"' \
        'i["kernel_names"]["state"] == "limited"'
}

@test "a mainline kernel, an ordinary user: own child without its kernel side" {
    asked mainline-user 't["A"]["state"] == "no"' 't["B"]["state"] == "limited"' \
        't["B"]["grant"] == "sudo sysctl kernel.perf_event_paranoid=1"' 'i["perf_events"]["state"] == "limited"'
}

@test "CAP_BPF and CAP_PERFMON alone: less, and said what" {
    need_bpf_build
    asked some-caps 'status == 0' 't["A"]["state"] == "limited"' '"CAP_SYSLOG" in t["A"]["why"]' \
        '"kernel functions" in i["capabilities"]["costs"]' 'i["capabilities"]["grant"].startswith("sudo setcap ")'
}

@test "Docker's default: no capabilities, and a seccomp filter" {
    asked docker 't["A"]["grant"].startswith("docker run --cap-add BPF --cap-add PERFMON ")' \
        '"--security-opt seccomp=unconfined" in t["A"]["grant"]' '"seccomp" in t["B"]["why"]' \
        'i["seccomp"]["state"] == "limited"' '"perf_event_open" in i["seccomp"]["seen"]' \
        'i["container"]["seen"].startswith("Docker (/.dockerenv)")' 'd["calls"]["filter.perf_event_open"] == "EPERM"'
}

@test "Docker with the capabilities but its old filter: the filter alone is to blame" {
    asked docker-caps 't["A"]["why"] == "a seccomp filter stops bpf(2)"' \
        't["A"]["grant"] == "docker run --security-opt seccomp=unconfined ..."' 'i["capabilities"]["state"] == "ok"'
}

@test "a virtual machine made from a Docker image is no container" {
    need_bpf_build
    asked docker-image-in-vm 'status == 0' 'i["container"]["seen"].startswith("none (/.dockerenv is there")' \
        'i["machine"]["seen"].startswith("a virtual machine")'
}

@test "a pod of Kubernetes: its securityContext" {
    asked kubernetes 'i["container"]["seen"].startswith("Kubernetes")' \
        't["A"]["grant"] == "securityContext: {capabilities: {add: [BPF, PERFMON, SYS_PTRACE, SYSLOG, CHECKPOINT_RESTORE]}, runAsUser: 0}"'
}

@test "rootless Podman: the user namespace's capabilities do not count" {
    asked podman-rootless 't["A"]["state"] == "no"' '"user namespace" in t["A"]["why"]' \
        't["A"]["grant"].startswith("sudo podman run --cap-add BPF ")' 'i["capabilities"]["state"] == "no"'
}

@test "a container of another kind" {
    asked lxc 'i["container"]["seen"].startswith("of another kind (/run/systemd/container)")' \
        't["A"]["grant"].startswith("start the container with CAP_BPF")'
}

@test "a sandbox with no_new_privs whose filter kills: nothing, and sudo is not told" {
    asked sandbox 'status == 3' 'all(x["state"] == "no" for x in t.values())' '"no_new_privs" in t["A"]["grant"]' \
        'i["seccomp"]["seen"] == "a filter stops bpf, perf_event_open, process_vm_readv"' 'd["calls"]["perf.child"] == "killed"' \
        'not any("sudo wprof" in (x["grant"] or "") for x in i.values())'
}

@test "WSL 2 is Linux without a PMU, WSL 1 is none" {
    asked wsl2 'i["machine"]["seen"] == "WSL 2"' 'i["machine"]["state"] == "ok"' 'i["container"]["seen"].startswith("none")' \
        'i["pmu"]["state"] == "limited"' 't["B"]["state"] == "limited"'
    asked wsl1 'i["machine"]["state"] == "no"' 't["A"]["grant"] == "wsl --set-version DISTRIBUTION 2"' 't["C"]["state"] == "no"'
}

@test "lockdown=confidentiality keeps BPF out of the kernel's memory, even for root" {
    asked confidentiality 't["A"]["state"] == "no"' '"lockdown=integrity" in t["A"]["grant"]' \
        'i["lockdown"]["state"] == "no"' 'i["bpf"]["grant"] == t["A"]["grant"]'
}

@test "kptr_restrict 2: recording works, kernel functions have no names" {
    need_bpf_build
    asked kptr-restrict 'status == 0' 'i["kernel_names"]["state"] == "limited"' \
        'i["kernel_names"]["grant"] == "sudo sysctl kernel.kptr_restrict=1"'
}

@test "no BTF, and the kernel's configuration says so" {
    asked no-btf 't["A"]["state"] == "no"' 't["A"]["grant"] == "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y"' \
        '"CONFIG_DEBUG_INFO_BTF is not set" in i["btf"]["seen"]' '"/boot/config-5.15.0-custom" in i["kernel"]["seen"]'
}

@test "a kernel without bpf_loop" {
    asked old-kernel 't["A"]["state"] == "no"' '"5.10.0-26-amd64 has no bpf_loop" in t["A"]["why"]' 'i["kernel"]["state"] == "limited"'
}

@test "a virtual machine without a PMU: cpu-clock stands in" {
    need_bpf_build
    asked vm-no-pmu 'status == 0' 'i["pmu"]["state"] == "limited"' '"ENOENT" in i["pmu"]["seen"]' \
        '"cpu-clock" in i["pmu"]["costs"]' 'i["machine"]["seen"] == "a virtual machine (QEMU)"'
}

@test "ptrace_scope 2: no tier C" {
    asked ptrace-scope-2 't["C"]["state"] == "no"' 't["C"]["grant"] == "sudo sysctl kernel.yama.ptrace_scope=1"' \
        'i["memory"]["state"] == "no"'
}

@test "ptrace_scope 1: own children, and not what runs already; 3: nobody until the next boot" {
    asked ptrace-scope-1 't["C"]["state"] == "limited"' 'i["memory"]["state"] == "limited"' \
        '"-p" in i["memory"]["costs"]' 'i["memory"]["grant"] == "sudo sysctl kernel.yama.ptrace_scope=0"'
    asked ptrace-scope-3 't["C"]["state"] == "no"' '"ptrace_scope 3" in t["C"]["grant"]' 'i["memory"]["state"] == "no"' \
        'i["memory"]["grant"].startswith("reboot")' '"without Python" in t["B"]["why"]'
}

# Each thing that the manual promises an answer to has one on every machine, and what is not fine says what it costs
# or what grants it, in one line.
@test "every answer is there on every machine: seen, and what grants it in one command" {
    local tree
    for tree in "$ROOT"/tests/fsroot/doctor/*.tree; do
        tree=$(basename "$tree" .tree)
        asked "$tree" '{"kernel", "btf", "lockdown", "capabilities", "bpf", "perf_events", "memory", "seccomp", "kernel_names", "pmu", "container", "machine"} <= set(i)' \
            'all(x["seen"] for x in i.values())' 'all("\n" not in (x["grant"] or "") for x in list(i.values()) + list(t.values()))' \
            'all(x["why"] for x in t.values())' \
            'all(x["costs"] or x["grant"] or x["id"] in ("gpu", "kernel") for x in i.values() if x["state"] == "no")'
    done
}

@test "a GPU of NVIDIA is seen" {
    asked nvidia '"driver 550.54.15" in i["gpu"]["seen"]' 'i["gpu"]["seen"].startswith("1 of NVIDIA")' \
        'i["gpu"]["state"] == "ok"' 'i["gpu"]["seen"].endswith("libcupti: the program'"'"'s own, if any, libwprof-cuda.so: yes")'
    asked nvidia-admin-only 'i["gpu"]["state"] == "limited"' '"administrators" in i["gpu"]["costs"]' \
        '"NVreg_RestrictProfilingToAdminUsers=0" in i["gpu"]["grant"]'
    asked nvidia-no-agent 'i["gpu"]["state"] == "no"' '"libwprof-cuda.so is not beside" in i["gpu"]["costs"]'
}

@test "without the kernel's answers nothing is claimed" {
    asked no-answers 'status == 3' 'd["tier"] is None' 'all(x["state"] == "unknown" for x in t.values())' \
        'all(x is None for x in d["calls"].values())'
    mkdir "$D/empty"
    run -3 "$WPROF" doctor --root "$D/empty"
}

# ---- the text ----

@test "the text tells each grant once, whole, and refers to it" {
    doctor docker
    [[ ${lines[0]} == "wprof cannot record here" || ${lines[0]} == "wprof records here, with tier "[BC] ]]
    [ "$(grep -c -- '--cap-add' <<<"$output")" = 1 ]
    grep -qE '^  \[1\] docker run --cap-add BPF .* \.\.\.$' <<<"$output"
    grep -qE '^  A BPF +no +missing .*\[1\]$' <<<"$output"
    [ "$(awk 'length > 110' <<<"$output" | grep -vc '^  \[')" = 0 ]
    [[ $output != *$'\033'* ]]
}

@test "colours on a terminal only, and not with NO_COLOR" {
    need_command script
    "$ROOT/tests/fsroot/unpack" "$ROOT/tests/fsroot/doctor/root.tree" "$D/root"
    TERM=xterm script -qec "'$WPROF' doctor --root '$D/root'" /dev/null </dev/null | grep -q $'\033\[32mok'
    NO_COLOR=1 TERM=xterm script -qec "'$WPROF' doctor --root '$D/root'" /dev/null </dev/null | not grep -q $'\033\[32m'
}

@test "wrong command lines" {
    run -2 "$WPROF" doctor here
    run -3 "$WPROF" doctor --root "$D/nowhere"
    [[ $output == *nowhere* ]]
}

# ---- this machine ----

as_nobody() {
    cp "$WPROF" "$D/wprof"
    setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all "$D/wprof" "$@"
}

@test "here, as whoever runs the tests: doctor and record agree" {
    run --separate-stderr "$WPROF" doctor
    local says=$status recorded=0
    "$WPROF" -q record -o "$D/s" -- true || recorded=$?
    [ "$says" = 0 ] || [ "$says" = 3 ]
    [ $((says == 0)) = $((recorded == 0)) ]
}

@test "here, as nobody: what is missing, and record says the same" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    need_command setpriv
    need_bpf_build
    run --separate-stderr as_nobody doctor --json
    python3 - "$output" "$(as_nobody record -o "$D/s" -- true 2>&1)" <<'END'
import json, sys
d, said = json.loads(sys.argv[1]), sys.argv[2]
a = d["tiers"][0]
caps = [x for x in d["items"] if x["id"] == "capabilities"][0]
assert a["state"] == "no", a
assert caps["state"] == "no" and "CAP_BPF" in caps["seen"], caps
assert d["calls"]["bpf.attach_tp_btf"] != "ok", d["calls"]
if not d["records"]:
    assert a["why"] in said and a["grant"] in said, said
END
}

@test "here, as root in a user namespace of its own: its capabilities do not count" {
    need_command unshare
    unshare -Ur true 2>/dev/null || skip "cannot make a user namespace"
    run --separate-stderr unshare -Ur "$WPROF" doctor --json
    python3 - "$output" <<'END'
import json, sys
d = json.loads(sys.argv[1])
assert d["tiers"][0]["state"] == "no", d["tiers"]
assert "user namespace" in [x for x in d["items"] if x["id"] == "capabilities"][0]["seen"], d
END
}

@test "here: the interpreters on PATH are examined, not run" {
    need_python
    mkdir "$D/bin"
    printf '#!/bin/sh\ntouch "%s/ran"\n' "$D" >"$D/bin/python3"
    chmod 755 "$D/bin/python3"
    ln -s "$(readlink -f "$PYTHON")" "$D/bin/python3.99"
    PATH=$D/bin:/bin:/usr/bin run --separate-stderr "$WPROF" doctor --json
    [ ! -e "$D/ran" ]
    [[ $output == *'"id": "python"'* ]]
    python3 -c 'import json,sys; i=[x for x in json.load(sys.stdin)["items"] if x["id"]=="python"][0]; assert "bin/python3" in i["seen"] + str(i["costs"]), i' <<<"$output"
}
