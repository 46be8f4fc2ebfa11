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
    if (ns < 999.5e3) // three digits: then it is the next unit's
        return +(ns / 1e3).toPrecision(3) + " \u00b5s";
    if (ns < 999.5e6)
        return +(ns / 1e6).toPrecision(3) + " ms";
    return (ns / 1e9).toFixed(ns < 100e9 ? 2 : 0) + " s";
}

function formatCount(n) {
    return Math.round(n).toLocaleString("en-US");
}

function formatBytes(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    while (n >= 1024 && i + 1 < units.length) {
        n /= 1024;
        i++;
    }
    return formatNumber(n) + " " + units[i];
}

/* Three digits, at most two behind the point. */
function formatNumber(n) {
    return n >= 100 || Number.isInteger(n) ? formatCount(n) : n.toFixed(n >= 10 ? 1 : 2);
}

/* A metric's value. unit: 0 none; else 1 + 2 * (ns, bytes, count, ratio in millionths, Hz), + 1 per second. */
function formatMetric(value, unit) {
    const kind = (unit - 1) >> 1, rate = unit && (unit - 1) & 1, per = rate ? "/s" : "";
    if (!unit)
        return formatCompact(value);
    switch (kind) {
    case 0: /* time in each second */
        return rate ? formatNumber(value / 1e7) + " %" : formatDuration(value);
    case 1:
        return formatBytes(value) + per;
    case 3:
        return formatNumber(value / 1e6);
    case 4:
        return value >= 1e9 ? (value / 1e9).toFixed(2) + " GHz" : formatNumber(value / 1e6) + " MHz";
    default:
        return (value < 1e4 ? formatNumber(value) : formatCompact(value)) + per;
    }
}

function formatValue(value, unit) {
    return unit === "ns" ? formatDuration(value) : unit === "bytes" ? formatBytes(value) : formatCount(value) + " " + (value === 1 ? unit.replace(/s$/, "") : unit);
}
