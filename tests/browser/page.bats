#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The HTML page in a headless Chromium. One browser does all the checks of page_test.py; the tests here read what came
# of them.

load common

setup_file() {
    export PAGES=$BATS_FILE_TMPDIR RESULTS=$BATS_FILE_TMPDIR/results
    local root=$BATS_TEST_DIRNAME/../..
    : "${BUILD:=$root/build}"
    find_browser
    [ -z "$MISSING" ] || return 0
    BUILD=$(cd "$BUILD" && pwd)
    (cd "$root" && WPROF_PAGES=$PAGES "$BUILD/tests/unit/test_render_html" >"$PAGES/log" 2>&1) || { cat "$PAGES/log"; return 1; }
    timeout 300 python3 "$BATS_TEST_DIRNAME/page_test.py" "$PAGES" "$RESULTS"
}

@test "page: no message in the console, no request" { expect no_console_message_and_no_request; }
@test "page: the quality figures are in view" { expect quality_is_in_view; }
@test "page: warnings are in view" { expect warnings_are_in_view; }
@test "page: a click zooms, the path leads back" { expect click_zooms_and_path_leads_back; }
@test "page: search says the matched share" { expect search_says_the_share; }
@test "page: capitals make the search case-sensitive" { expect search_takes_case_from_the_pattern; }
@test "page: search scrolls to a match" { expect search_scrolls_to_a_match; }
@test "page: a bad regular expression is said" { expect bad_expression_is_said; }
@test "page: Enter goes from match to match" { expect enter_goes_from_match_to_match; }
@test "page: a range of time makes a graph of its own" { expect range_recomputes_the_graph; }
@test "page: a hidden function gives its time to its callers" { expect hidden_function_gives_its_time_to_callers; }
@test "page: kinds can be taken out" { expect kinds_can_be_taken_out; }
@test "page: the focus shows one thread" { expect focus_shows_one_thread; }
@test "page: processes of one name joined or apart" { expect processes_are_joined_by_name_or_apart; }
@test "page: the interpreter's own functions can be taken out" { expect interpreter_can_be_taken_out; }
@test "page: the keyboard" { expect keyboard; }
@test "page: reset undoes everything" { expect reset_undoes_everything; }
@test "page: the tooltip" { expect tooltip_has_the_whole_story; }
@test "page: functions sort and filter" { expect functions_sort_and_filter; }
@test "page: hostile names stay text" { expect hostile_names_stay_text; }
@test "page: dark follows the system and the button" { expect dark_follows_the_system_and_the_button; }
@test "page: a metric can be chosen" { expect metrics_can_be_chosen; }
@test "page: an empty profile says so" { expect empty_profile_says_so; }
@test "page: one sample is a graph" { expect one_sample_is_a_graph; }
@test "page: recursion 2000 deep scrolls" { expect deep_recursion_scrolls; }
@test "page: pruned weight is shown" { expect pruned_weight_is_shown; }
@test "page: more stacks than fit are usable" { expect many_stacks_are_usable; }
@test "timeline: states are added up" { expect timeline_adds_up_states; }
@test "timeline: what is under the pointer" { expect timeline_tells_what_is_under_the_pointer; }
@test "timeline: a click shows the stack, and the waker" { expect timeline_click_shows_the_stack; }
@test "timeline: wheel, dragging, keys" { expect timeline_zooms_and_moves; }
@test "timeline: its range is the flame graph's" { expect timeline_and_flame_graph_share_the_range; }
@test "timeline: threads are filtered, spans are searched" { expect timeline_filters_and_searches; }
@test "page: the help lists the keys of the pane" { expect help_lists_the_keys_of_the_pane; }
@test "timeline: processes fold" { expect timeline_folds_processes; }
@test "timeline: samples alone" { expect timeline_of_samples_alone; }
@test "timeline: what was merged and left out is said" { expect timeline_says_what_it_merged; }
@test "timeline: GPUs, why they were idle, who asked" { expect timeline_shows_gpus_and_who_asked; }
@test "timeline: hostile names stay text" { expect timeline_keeps_hostile_names_text; }
@test "timeline: absent where nothing has a time" { expect timeline_is_absent_without_times; }
@test "topology: what is under the pointer" { expect topology_tells_what_is_under_the_pointer; }
@test "topology: a click shows the neighbours" { expect topology_click_shows_the_neighbours; }
@test "topology: to a process's flame graph, and back" { expect topology_leads_to_the_flame_graph_and_back; }
@test "topology: wheel, dragging, keys" { expect topology_zooms_and_moves; }
@test "topology: search, also in what was folded" { expect topology_searches; }
@test "topology: kinds are hidden" { expect topology_hides_kinds; }
@test "topology: hostile names stay text" { expect topology_keeps_hostile_names_text; }
@test "topology: thousands are folded" { expect topology_of_thousands_is_folded; }
@test "topology: alone, and absent" { expect topology_stands_alone; }
@test "page: without scripts there are words" { expect without_scripts_there_are_words; }

@test "page: every check has a test here" {
    [ -z "$MISSING" ] || skip "needs $MISSING"
    diff <(sed -n 's/.*{ expect \([a-z_]*\); }$/\1/p' "$BATS_TEST_FILENAME" | sort) \
        <(sed -nE 's/^(ok|FAIL) ([a-z_]+).*/\2/p' "$RESULTS" | sort)
}
