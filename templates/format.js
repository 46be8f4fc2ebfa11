/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as people read them. */

function formatShare(part, whole) {
    const share = whole ? part / whole * 100 : 0;
    if (share > 0 && share < 0.01)
        return "< 0.01 %";
    return (share >= 99.95 || share === 0 ? share.toFixed(0) : share.toFixed(share < 10 ? 2 : 1)) + " %";
}

function formatDuration(ns) {
    if (ns < 1e3)
        return Math.round(ns) + " ns";
    if (ns < 1e6)
        return +(ns / 1e3).toPrecision(3) + " \u00b5s";
    if (ns < 1e9)
        return +(ns / 1e6).toPrecision(3) + " ms";
    return (ns / 1e9).toFixed(ns < 100e9 ? 2 : 0) + " s";
}

function formatCount(n) {
    return Math.round(n).toLocaleString("en-US");
}

function formatValue(value, unit) {
    return unit === "ns" ? formatDuration(value) : formatCount(value) + " " + (value === 1 ? unit.replace(/s$/, "") : unit);
}
