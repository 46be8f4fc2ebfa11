# SPDX-License-Identifier: Apache-2.0
# fish completion for wprof: every word comes from `wprof complete`.
function __wprof_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] "$cur" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$cur"
            case ':dirs'
                __fish_complete_directories "$cur"
            case ':command *'
                __fish_complete_subcommand --fcs-skip=(math (string replace ':command ' '' -- $line) + 1)
            case '*'
                echo $line
        end
    end
end
complete -c wprof -f -a '(__wprof_complete)'
