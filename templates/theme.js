/* SPDX-License-Identifier: Apache-2.0 */
/* Runs before the page is drawn, so that it doesn't flash. Storage may be refused to files: then nothing is kept. */

function readSetting(name) {
    try {
        return localStorage.getItem("wprof." + name);
    } catch (error) {
        return null;
    }
}

function writeSetting(name, value) {
    try {
        localStorage.setItem("wprof." + name, value);
    } catch (error) {
        /* Only this page then. */
    }
}

document.documentElement.dataset.theme = readSetting("theme") ||
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
