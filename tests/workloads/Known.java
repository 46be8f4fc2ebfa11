// SPDX-License-Identifier: Apache-2.0
// java Known KIND SECONDS: Java whose profile is known, for SECONDS of each thread's CPU time.
//     split    work calls hotA and hotB, they call leafA and leafB: 70 % and 30 % of the time, by the thread's clock:
//              on a busy machine one of them may be compiled long before the other
//     deep     descend calls itself, 100 deep, then leafA
//     zip      a native function: deflate
//     threads  split, in threads worker-0 to worker-2
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.zip.Deflater;

public class Known {
    private static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private static volatile int sink;
    private static final byte[] text = new byte[1 << 20];

    static int leafA(int n) {
        int x = 1;
        for (int i = 0; i < n; i++)
            x = (x * 1103515245 + 12345) ^ (x >>> 7);
        return x;
    }

    static int leafB(int n) {
        int x = 1;
        for (int i = 0; i < n; i++)
            x = (x * 1103515245 + 12345) ^ (x >>> 7);
        return x;
    }

    static int hotA() {
        return leafA(1000000) + 1;
    }

    static int hotB() {
        return leafB(1000000) + 1;
    }

    static int descend(int n) {
        return n == 0 ? leafA(300000) : descend(n - 1) + 1;
    }

    static int pack() {
        Deflater d = new Deflater();
        byte[] out = new byte[1 << 20];
        d.setInput(text);
        d.finish();
        int n = d.deflate(out);
        d.end();
        return n;
    }

    static void work(String kind, long ns) {
        long now = threads.getCurrentThreadCpuTime(), end = now + ns, inA = 0, inB = 0;
        while (now < end) {
            long start = now;
            boolean a = 3 * inA <= 7 * inB;
            if (kind.equals("split"))
                sink += a ? hotA() : hotB();
            else if (kind.equals("deep"))
                sink += descend(100);
            else
                sink += pack();
            now = threads.getCurrentThreadCpuTime();
            if (a)
                inA += now - start;
            else
                inB += now - start;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        long ns = (long) (Double.parseDouble(args[1]) * 1e9);
        if (!args[0].equals("threads")) {
            work(args[0], ns);
            return;
        }
        Thread[] workers = new Thread[3];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(() -> work("split", ns), "worker-" + i);
            workers[i].start();
        }
        for (Thread t : workers)
            t.join();
    }
}
