/* SPDX-License-Identifier: Apache-2.0 */
#include "report_made.h"

#include <string.h>

static void thresholds(const struct rule *rule, struct buf *out)
{
    char name[32], value[32];

    for (size_t i = 0; rule_threshold_name(rule, i, name, sizeof(name)); i++)
        buf_addf(out, "%s`%s.%s` (%s)", i ? ", " : " Thresholds: ", rule->id, name,
                 rule_spell(value, sizeof(value), rule, name, rule_setting(NULL, rule, name)));
    if (*rule->thresholds)
        buf_addch(out, '.');
}

static void needs(const struct rule *rule, struct buf *out)
{
    int any = 0;

    for (unsigned bit = 1; rule_need_name(bit); bit <<= 1) {
        if (!(rule->needs & bit))
            continue;
        buf_addf(out, "%s%s", any ? ", " : " Needs: ", rule_need_name(bit));
        any = 1;
    }
    if (any)
        buf_addch(out, '.');
}

void report_rules_page(struct buf *out)
{
    buf_addstr(out, "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
                    "# NAME\n\nwprof-rules - what wprof report looks for\n\n"
                    "# DESCRIPTION\n\n"
                    "The rules of **wprof-report**(1): what each looks for, why, what it needs of a session, "
                    "and from which thresholds on it "
                    "speaks. **--set** and the settings' section `[rules]` change them. What a session has "
                    "no data for is reported as not "
                    "checked.\n\n"
                    "This page is made of the table that the rules are compiled from.\n\n# RULES\n\n");
    for (size_t i = 0; i < nrules; i++) {
        const struct rule *r = &rules[i];

        buf_addf(out, "- **%s**: %c%s. ", r->id,
                 *r->title >= 'a' && *r->title <= 'z' ? *r->title - 'a' + 'A' : *r->title, r->title + 1);
        buf_addf(out, "%c%s.", *r->why >= 'a' && *r->why <= 'z' ? *r->why - 'a' + 'A' : *r->why, r->why + 1);
        needs(r, out);
        thresholds(r, out);
        buf_addch(out, '\n');
    }
    buf_addstr(out, "\n# NEEDS\n\n");
    for (unsigned bit = 1; rule_need_name(bit); bit <<= 1)
        buf_addf(out, "- **%s**: %s.\n", rule_need_name(bit), rule_need_help(bit));
    buf_addstr(out, "\n# SEE ALSO\n\n**wprof-report**(1), **wprof-record**(1), **wprof-mark**(1)\n");
}
