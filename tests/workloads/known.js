// SPDX-License-Identifier: Apache-2.0
// node known.js KIND SECONDS: JavaScript whose profile is known, for SECONDS of the process's CPU time.
//     split    main calls hot_a and hot_b, they call leaf_a and leaf_b: 70 % and 30 % of the time
//     deep     descend calls itself, 100 deep, then leaf_a
//     zlib     a native function: deflate
//     sort     a callback from one of V8's built-in functions
//     garbage  what keeps the collector busy
//     workers  split, in two worker threads
'use strict';
const zlib = require('zlib');
const { Worker, isMainThread } = require('worker_threads');

const [kind, seconds] = process.argv.slice(2);
const cpu = () => process.cpuUsage().user + process.cpuUsage().system;
const end = cpu() + 1e6 * Number(seconds);
const text = Buffer.alloc(1 << 18, 'some text to pack');

function leaf_a(n) {
    let x = 1;
    for (let i = 0; i < n; i++)
        x = (x * 1103515245 + 12345) & 0x7fffffff;
    return x;
}

function leaf_b(n) {
    let x = 1;
    for (let i = 0; i < n; i++)
        x = (x * 1103515245 + 12345) & 0x7fffffff;
    return x;
}

function hot_a() {
    return leaf_a(700000) + 1;
}

function hot_b() {
    return leaf_b(300000) + 1;
}

function descend(n) {
    return n ? descend(n - 1) + 1 : leaf_a(300000);
}

function pack() {
    return zlib.deflateSync(text).length;
}

function sort() {
    return [3, 1, 2, 5, 4].sort((p, q) => p - q + 0 * leaf_a(20000))[0];
}

function garbage() {
    const list = [];
    for (let i = 0; i < 20000; i++)
        list.push({ i, s: 'x' + i });
    return list.length;
}

const work = { split: () => hot_a() + hot_b(), deep: () => descend(100), zlib: pack, sort, garbage };

function main() {
    let x = 0;
    while (cpu() < end)
        x += work[kind]();
    return x;
}

if (kind === 'workers' && isMainThread) {
    for (let i = 0; i < 2; i++)
        new Worker(__filename, { argv: ['split', seconds] });
} else {
    main();
}
