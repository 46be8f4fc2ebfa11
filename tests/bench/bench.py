#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What wprof costs, as work done and as ratios within one run: `make bench`.

    bench.py WPROF OUT.json [--quick]

Prints one line a figure: what, measured, the bar it is held against, and what it was compared with in the same run.
Nothing here fails a build: machines are noisy, a person reads it. Figures that need a package (perf, torch) are
skipped by name.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Bench:
    def __init__(self, wprof, work):
        self.wprof = wprof
        self.work = work
        self.figures = []

    def figure(self, name, value, unit, bar=None, beside=None):
        self.figures.append({"name": name, "value": value, "unit": unit, "bar": bar, "beside": beside})
        shown = "not measured" if value is None else f"{value:.4g} {unit}"
        print(f"{name:<52} {shown:<22} {bar or '':<16} {beside or ''}", flush=True)

    def skip(self, name, lacks):
        self.figures.append({"name": name, "value": None, "skipped": lacks})
        print(f"{name:<52} skipped: needs {lacks}", flush=True)


def run(argv, env=None, timeout=900):
    """(seconds, max RSS in MB, CPU seconds) of a command that must succeed."""
    full = dict(os.environ, **(env or {}))
    begin = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(argv, env=full, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        if process.returncode:
            log.seek(0)
            sys.exit(f"bench: {argv} exited {process.returncode}\n{log.read().decode(errors='replace')}")
    return seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def show(bench, session):
    out = subprocess.run([bench.wprof, "show", "--json", session], capture_output=True, check=True)
    return json.loads(out.stdout)


def meta(session):
    with open(os.path.join(session, "meta.json")) as f:
        return json.load(f)


def python_with(module):
    for python in ("/usr/bin/python3", "python3"):
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


def median_of(n, f):
    return sorted(f() for _ in range(n))[n // 2]


# ---- recording ----


def bench_recording(bench, quick):
    python = python_with("torch")
    if os.geteuid() or not python:
        bench.skip("recording", "root and python3-torch")
        return
    train = [python, os.path.join(ROOT, "examples", "train.py"), "--epochs", "3" if quick else "8"]
    cache = os.path.join(bench.work, "cache")
    env = {"XDG_CACHE_HOME": cache}

    def record(hz, name, *extra):
        session = os.path.join(bench.work, name)
        run([bench.wprof, "record", "-q", "-F", str(hz), "-o", session, *extra, "--", *train], env)
        return session

    cold = show(bench, record(99, "cold"))
    bench.figure("unwind tables, built cold", cold.get("tables_s"), "s", "<= 1 s")
    for hz, bar in ((99, "<= 0.01"), (999, "<= 0.04")):
        session = record(hz, f"hz{hz}")
        shown = show(bench, session)
        if hz == 99:
            bench.figure("unwind tables, from the cache", shown.get("tables_s"), "s", "<= 0.05 s")
        bench.figure(f"cost_share at {hz} Hz", shown.get("cost_share"), "", bar, "of the target's CPU time")
        bench.figure(f"unwound_share at {hz} Hz", shown.get("unwound_share"), "", ">= 0.995")
        bench.figure(f"unknown_share at {hz} Hz", shown.get("unknown_share"), "", "0 where symbols exist")
        bench.figure(f"python_share at {hz} Hz", shown.get("python_share"), "", ">= 0.995")
        if hz == 999:
            size = os.path.getsize(os.path.join(session, "events.wlog"))
            bench.figure("bytes a sample on disk at 999 Hz", size / max(1, shown["taken"]), "bytes", "<= 12")
            bench.figure("recorder's largest RSS", shown.get("rss_max", 0) / 2**20, "MB", "<= 150 MB")
            bench.figure("command's end to sealed, 999 Hz", shown.get("seal_s"), "s", "<= 1 s")
            inl = show(bench, record(999, "inlines", "--inlines"))
            bench.figure("command's end to sealed, with inlines", inl.get("seal_s"), "s", "<= 1 s")
    bench_perf(bench, train)


def bench_tick(bench):
    """What any profiler with a timer pays: the interrupt alone."""
    tick = os.path.join(bench.work, "tick")
    run([os.environ.get("CC", "cc"), "-O2", "-o", tick, os.path.join(HERE, "tick.c")])
    for hz in ("99", "999"):
        done = subprocess.run([tick, hz], capture_output=True, text=True)
        if done.returncode:
            bench.skip(f"bare timer tick at {hz} Hz", f"perf_event_open ({done.stderr.strip()})")
            continue
        share, ns = map(float, done.stdout.split())
        bench.figure(f"bare timer tick at {hz} Hz", share, "", "", f"of a CPU ({ns:.0f} ns each), not in cost_share")


def bench_perf(bench, train):
    if not shutil.which("perf"):
        bench.skip("perf record + perf script beside", "perf (linux-perf)")
        return
    data = os.path.join(bench.work, "perf.data")
    for how, options in (("fp", ["-g"]), ("dwarf", ["--call-graph", "dwarf"])):
        hz = "999" if how == "fp" else "99"
        run(["perf", "record", "-q", "-F", hz, *options, "-o", data, "--", *train])
        size = os.path.getsize(data) / 2**20
        seconds = run(["sh", "-c", f"timeout 300 perf script --no-inline -i {data} >/dev/null 2>&1 || true"])[0]
        bench.figure(f"perf {how} {hz} Hz: perf script --no-inline", seconds, "s", "", f"perf.data {size:.1f} MB")


# ---- big folded files ----


def bench_folded(bench, quick):
    stacks = 100_000 if quick else 1_000_000
    text = os.path.join(bench.work, "big.folded")
    session = os.path.join(bench.work, "big")
    page = os.path.join(bench.work, "big.html")
    run([sys.executable, os.path.join(HERE, "make_folded.py"), str(stacks), text])
    size = os.path.getsize(text) / 1e6
    read = median_of(3, lambda: run(["wc", "-l", text])[0])

    def again():
        shutil.rmtree(session, ignore_errors=True)
        return run([bench.wprof, "import", "--from", "folded", "-o", session, text])

    seconds, rss, _ = median_of(3, again)
    bench.figure(f"import of {size:.0f} MB folded, {stacks} stacks", size / seconds, "MB/s", ">= 400 MB/s",
                 f"{seconds / read:.1f} x wc -l, {rss:.0f} MB RSS")
    seconds, rss, _ = median_of(3, lambda: run([bench.wprof, "render", "--format", "html", "-o", page, session]))
    bench.figure("render --format html of it", seconds, "s", "<= 2 s", f"{seconds / read:.1f} x wc -l, {rss:.0f} MB RSS")
    bench.figure("the page", os.path.getsize(page) / 1e6, "MB", "<= 10 MB")


# ---- comparing ----


# As difffolded.pl goes about it: all stacks as text in a hash.
HASH_OF_STACKS = r"""
for my $side (0, 1) {
    open my $f, "<", $ARGV[$side] or die;
    while (<$f>) { $of{$1}[$side] += $2 if /^(.*) (\d+)$/ }
}
print "$_ ", $of{$_}[0] || 0, " ", $of{$_}[1] || 0, "\n" for keys %of;
"""


def write_alone(path, size):
    """Seconds that the kernel takes for so many bytes; above all its pages, which may be new to a virtual machine."""
    piece = bytes(1 << 20)
    begin = time.monotonic()
    with open(path, "wb", buffering=0) as f:
        for _ in range(size >> 20):
            f.write(piece)
    took = time.monotonic() - begin
    os.remove(path)
    return took


def bench_diff(bench, quick):
    """Two trees of the same names; beside it difffolded.pl of the FlameGraph scripts, or what does the same."""
    stacks = 100_000 if quick else 1_000_000
    texts = [os.path.join(bench.work, f"diff{seed}.folded") for seed in (1, 2)]
    for seed, text in enumerate(texts, 1):
        run([sys.executable, os.path.join(HERE, "make_folded.py"), str(stacks), text, "--seed", str(seed)])
    out = os.path.join(bench.work, "diff.out")
    name = shutil.which("difffolded.pl")
    theirs, beside = None, "neither difffolded.pl nor perl is here"
    if name or shutil.which("perl"):
        command = [name] if name else ["perl", "-e", HASH_OF_STACKS]
        theirs = run(["sh", "-c", '"$@" >' + out, "sh", *command, *texts])
        beside = f"{'difffolded.pl' if name else 'a hash of stacks in Perl'} {theirs[0]:.3g} s, {theirs[1]:.0f} MB"
        os.remove(out)
    for form in ("text", "folded"):
        took = [run([bench.wprof, "diff", "--format", form, "-o", out, *texts]) for _ in range(3)]
        best = min(t[0] for t in took)
        ratio = f", {theirs[0] / best:.1f} x as long" if theirs else ""
        bench.figure(f"diff --format {form} of 2 x {stacks} stacks", best, "s", "<= 3 s",
                     f"{min(t[2] for t in took):.3g} s of CPU; {beside}{ratio}")
        bench.figure("  its largest process", max(t[1] for t in took), "MB", "<= 1000 MB" if not quick else None)
    size = os.path.getsize(out)
    bench.figure(f"  to write its {size / 1e6:.0f} MB alone", min(write_alone(out, size) for _ in range(3)), "s")
    for text in texts:
        os.remove(text)


def show_rates(bench, cases):
    for case in cases:
        null = "null" in case["case"]
        held = f"; the interval held it {100 * case['covered']:.3g} %" if "covered" in case else ""
        bench.figure(f"diff, {case['case']}", 100 * case["any" if null else "found"], "%",
                     "<= 1 %" if null else None if "kernels" in case["case"]
                     else ">= 95 %" if "+10 %: 3 runs" in case["case"] else ">= 80 %" if "+3 %: 10 runs" in case["case"]
                     else None,
                     f"gate of 5 %: {100 * case['gate']:.2g} %{held}")


def bench_rates(bench, quick):
    """How often comparisons of simulated runs are wrong: wprof-diff(1) has these figures."""
    program = os.path.join(os.path.dirname(bench.wprof), "tests", "bench", "compare_rates")
    shared = os.environ.get("WPROF_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))
    source, session, drawn = os.path.join(shared, "kineto", "diff-control.json.gz"), os.path.join(bench.work, "steps"), []
    if os.path.exists(source):
        run([bench.wprof, "import", "-o", session, source])
        drawn = [session]
    done = subprocess.run([program, "100" if quick else "1000", *drawn], capture_output=True, text=True, check=True)
    show_rates(bench, json.loads(done.stdout))


def bench_rates_recorded(bench, quick):
    """The same of recordings of a program that does a known amount of work."""
    if quick:
        return bench.skip("diff of recordings", "some minutes: not with --quick")
    script = os.path.join(HERE, "compare_recordings.py")
    program = os.path.join(os.path.dirname(bench.wprof), "tests", "bench", "shares")
    done = subprocess.run([sys.executable, script, bench.wprof, program, os.path.join(bench.work, "recordings")],
                          capture_output=True, text=True, check=True)
    show_rates(bench, json.loads(done.stdout))


# ---- traces of others ----


def bench_kineto(bench, quick):
    shared = os.environ.get("WPROF_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))
    source = os.path.join(shared, "kineto", "diff-control.json.gz")
    if not os.path.exists(source):
        bench.skip("import of a trace", "the shared data (kineto)")
        return
    megabytes = int(os.environ.get("WPROF_BENCH_TRACE_MB", "100" if quick else "300"))
    trace, session = os.path.join(bench.work, "big.json"), os.path.join(bench.work, "trace")
    run([sys.executable, os.path.join(HERE, "make_kineto.py"), source, str(megabytes), trace])
    size = os.path.getsize(trace) / 1e6

    def again():
        shutil.rmtree(session, ignore_errors=True)
        return run([bench.wprof, "import", "-o", session, trace])

    took = sorted((again() for _ in range(3)), key=lambda t: t[2])
    python = run([sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1]))", trace])
    bench.figure(f"import of {size:.0f} MB of PyTorch's trace, CPU time", size / took[1][2], "MB/s", ">= 200 MB/s",
                 f"Python's json alone {size / python[2]:.0f} MB/s, {python[1]:.0f} MB RSS")
    bench.figure("  its memory (1 GB: WPROF_BENCH_TRACE_MB=1000)", max(t[1] for t in took), "MB", "<= 300 MB")
    os.remove(trace)


def build_fakes(bench):
    """The folder of a driver and a CUPTI of ours, and the program that launches on them."""
    fakes, libraries = os.path.join(ROOT, "tests", "fakes"), os.path.join(bench.work, "fakes")
    load = os.path.join(bench.work, "agent_load")
    cc = [os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE"]
    os.makedirs(libraries)
    for name, to in (("cuda", "libcuda.so.1"), ("cupti", "libcupti.so.12")):
        run([*cc, "-shared", "-fPIC", "-o", os.path.join(libraries, to), os.path.join(fakes, name + ".c")])
    run([*cc, "-o", load, os.path.join(HERE, "agent_load.c"), "-ldl", "-lpthread"])
    return libraries, load


def bench_agent(bench, quick):
    """The CPU time of a program that launches, with the agent and without, by the records that the agent takes."""
    if not os.path.exists(os.path.join(os.path.dirname(bench.wprof), "libwprof-cuda.so")):
        bench.skip("the GPU agent", "libwprof-cuda.so beside wprof")
        return
    libraries, load = build_fakes(bench)
    session, rate = os.path.join(bench.work, "agent"), 100_000
    arguments = [load, "plain", "3" if quick else "10", str(rate)]
    env = dict(os.environ, LD_LIBRARY_PATH=libraries)

    def plain():
        return int(subprocess.run(arguments, env=env, capture_output=True, text=True, check=True).stdout.split()[0])

    def recorded():
        shutil.rmtree(session, ignore_errors=True)
        out = subprocess.run([bench.wprof, "record", "-q", "-o", session, "--tier", "C", "--collect", "gpu", "--", *arguments[:1],
                              "agent", *arguments[2:]], env=env, capture_output=True, text=True, check=True).stdout.split()
        counters = next(c for c in meta(session)["collectors"] if c["name"] == "gpu")["counters"]
        return [int(x) for x in out], counters

    without = median_of(3, plain)
    took = sorted((recorded() for _ in range(3)), key=lambda t: t[0][0])
    (cpu, launches, ns), counters = took[1]
    records = counters["records"]
    bench.figure("GPU agent, CPU time a record", (cpu - without) / records / 1e3, "us", "<= 1.5 us",
                 f"the fakes alone {without / records / 1e3:.2f} us")
    bench.figure("  records a second, of which all are kept", records / ns * 1e9, "1/s", ">= 100 k/s, none lost",
                 f"lost {max(3 * n[1] - c['records'] + c['dropped'] + c['unasked'] for n, c in took)}; "
                 f"{counters['stacks']} of {launches} launches with a stack")


def bench_gpu_page(bench, quick):
    """A page of very many kernels, each with its call, as the agent records them."""
    kernels = 1_000_000 if quick else 10_000_000
    session, page = os.path.join(bench.work, "gpu"), os.path.join(bench.work, "gpu.html")
    run([os.path.join(os.path.dirname(bench.wprof), "tests", "bench", "make_gpu"), session, str(kernels)])
    seconds, rss, cpu = run([bench.wprof, "render", "--format", "html", "-o", page, session])
    bench.figure(f"render --format html of {kernels} kernels", cpu, "s of CPU", "<= 10 s" if not quick else "<= 1 s",
                 f"{seconds:.3g} s, {rss:.0f} MB RSS")
    bench.figure("  the page", os.path.getsize(page) / 1e6, "MB", "<= 15 MB")
    shutil.rmtree(session)


def bench_merge(bench, quick):
    """Many ranks' sessions as one: read, brought to one clock, written."""
    ranks, samples = (64, 20_000) if quick else (256, 100_000)
    folder, merged = os.path.join(bench.work, "ranks"), os.path.join(bench.work, "merged")
    os.mkdir(folder)
    run([os.path.join(os.path.dirname(bench.wprof), "tests", "bench", "make_ranks"), folder, str(ranks), str(samples)])
    sessions = [os.path.join(folder, f"r{i}") for i in range(ranks)]
    seconds, rss, cpu = run([bench.wprof, "merge", "-o", merged, *sessions])
    bench.figure(f"merge of {ranks} sessions of {samples} samples", cpu, "s of CPU", "<= 10 s" if not quick else "<= 1 s",
                 f"{seconds:.3g} s, {rss:.0f} MB RSS")
    shutil.rmtree(folder)
    shutil.rmtree(merged)


def bench_perf_script(bench, quick):
    shared = os.environ.get("WPROF_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))
    source = os.path.join(shared, "perf-script", "perf-vertx-stacks-01.txt")
    if not os.path.exists(source):
        bench.skip("import of perf script's text", "the shared data (perf-script)")
        return
    text, session = os.path.join(bench.work, "perf.txt"), os.path.join(bench.work, "perf-session")
    with open(source) as f:
        part = f.read() + "\n"
    with open(text, "w") as f:
        for _ in range(50 if quick else 300):
            f.write(part)
    size = os.path.getsize(text) / 1e6

    def again():
        shutil.rmtree(session, ignore_errors=True)
        return run([bench.wprof, "import", "-o", session, text])

    # The peer's own script where it is installed; else one of a few lines of Python, which does less.
    script = shutil.which("stackcollapse-perf.pl")
    peer = script or f"{sys.executable} {os.path.join(HERE, 'collapse_perf.py')}"
    name = "stackcollapse-perf.pl" if script else "collapse_perf.py"
    theirs = run(["sh", "-c", f"{peer} <{text} >/dev/null"])
    took = sorted((again() for _ in range(3)), key=lambda t: t[2])[1]
    bench.figure(f"import of {size:.0f} MB of perf script's text, CPU time", size / took[2], "MB/s", ">= 400 MB/s",
                 f"{theirs[2] / took[2]:.0f} x {name}'s {size / theirs[2]:.0f} MB/s")
    os.remove(text)


def bench_perf_data(bench, quick):
    """Copied stacks: walked, named and folded, beside perf script and a collapser."""
    what = "perf.data with copied stacks: import and folded text"
    data, session = os.path.join(bench.work, "dwarf.data"), os.path.join(bench.work, "dwarf")
    burn = "import json, time\nend = time.process_time() + %d\nwhile time.process_time() < end: json.dumps([{'a': [1.5] * 50}] * 50)"
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "--call-graph", "dwarf", "-o", data, "--",
               sys.executable, "-c", burn % (1 if quick else 3)]
    if not shutil.which("perf"):
        bench.skip(what, "perf (linux-perf)")
        return
    if subprocess.run(command, capture_output=True).returncode:
        bench.skip(what, "the right to record with perf")
        return
    size = os.path.getsize(data) / 1e6

    def again():
        shutil.rmtree(session, ignore_errors=True)
        taken, folded = run([bench.wprof, "-q", "import", "-o", session, data]), run([bench.wprof, "export", session])
        return taken[0] + folded[0], max(taken[1], folded[1]), taken[2] + folded[2]

    seconds, rss, cpu = median_of(3, again)
    collapse = f"{sys.executable} {os.path.join(HERE, 'collapse_perf.py')}"
    theirs = run(["sh", "-c", f"timeout 600 perf script --no-inline -i {data} 2>/dev/null | {collapse} >/dev/null"])
    bench.figure(f"{what}, {size:.0f} MB", seconds, "s", "<= 3 s for 100 MB",
                 f"{cpu:.2g} s of CPU, {rss:.0f} MB RSS; perf script + collapse_perf.py {theirs[0]:.3g} s")
    os.remove(data)


def bench_start(bench):
    true = median_of(11, lambda: run(["true"])[0])
    seconds = median_of(11, lambda: run([bench.wprof, "version"])[0])
    bench.figure("wprof version", seconds * 1e3, "ms", "<= 10 ms", f"{seconds / true:.1f} x true")


def bench_topology(bench, quick):
    processes, sockets = (200, 1000) if quick else (2000, 10000)
    crowd = subprocess.Popen([sys.executable, os.path.join(HERE, "crowd.py"), str(processes), str(sockets)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if crowd.stdout.readline() != b"ready\n":
        bench.skip("topology of a crowd", f"{sockets} file descriptors")
        return
    out = os.path.join(bench.work, "topology.json")
    took = [run([bench.wprof, "topo", "--format", "json", "-o", out]) for _ in range(3)]
    ss = run(["ss", "-tunapx"]) if shutil.which("ss") else None
    crowd.stdin.close()
    crowd.wait()
    what = f"topology of {processes} processes, {sockets} sockets"
    bench.figure(f"{what}: time", min(t[0] for t in took), "s", "<= 1 s", f"ss {ss[0]:.3g} s" if ss else None)
    bench.figure("  its CPU time", min(t[2] for t in took), "s", None, f"ss {ss[2]:.3g} s" if ss else None)
    bench.figure("  its largest process", max(t[1] for t in took), "MB", "<= 100 MB")


def main():
    quick = "--quick" in sys.argv
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(args) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="wprof-bench-") as work:
        bench = Bench(os.path.abspath(args[0]), work)
        bench_start(bench)
        bench_topology(bench, quick)
        bench_folded(bench, quick)
        bench_diff(bench, quick)
        bench_rates(bench, quick)
        bench_rates_recorded(bench, quick)
        bench_kineto(bench, quick)
        bench_agent(bench, quick)
        bench_gpu_page(bench, quick)
        bench_merge(bench, quick)
        bench_perf_script(bench, quick)
        bench_perf_data(bench, quick)
        bench_tick(bench)
        bench_recording(bench, quick)
        with open(args[1], "w") as f:
            json.dump({"when": time.strftime("%Y-%m-%dT%H:%M:%S"), "figures": bench.figures}, f, indent=1)
    print(f"also in {args[1]}")


if __name__ == "__main__":
    main()
