# SPDX-License-Identifier: Apache-2.0
# cmark knows no tables: each row becomes an item of a list, "first cell: second; *header*: third; ...".
function cells(line, to,    n, i) {
    sub(/^\|[ \t]*/, "", line)
    sub(/[ \t]*\|[ \t]*$/, "", line)
    n = split(line, to, /[ \t]*\|[ \t]*/)
    return n
}

/^\|/ {
    if (!rows++) {
        columns = cells($0, header)
        next
    }
    if ($0 ~ /^\|[-| :]+\|[ \t]*$/)
        next
    n = cells($0, cell)
    text = "- **" cell[1] "**"
    for (i = 2; i <= n; i++)
        if (cell[i] != "")
            text = text (i == 2 ? ": " : "; " header[i] ": ") cell[i]
    print text
    next
}

{
    rows = 0
    print
}
