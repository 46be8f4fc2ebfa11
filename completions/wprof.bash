# SPDX-License-Identifier: Apache-2.0
# bash completion for wprof: every word comes from `wprof complete`.
_wprof()
{
    local line=${COMP_LINE:0:COMP_POINT} cur word cut
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cur=${words[-1]}
    # bash replaces only what follows the last = or :
    cut=${cur%"${cur##*[=:]}"}
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        case $word in
            :files) COMPREPLY+=($(compgen -f -- "$cur")) ;;
            :dirs) COMPREPLY+=($(compgen -d -- "$cur")) ;;
            :command*)
                if declare -F _command_offset >/dev/null; then
                    _command_offset $((${word#:command } + 1))
                else
                    COMPREPLY+=($(compgen -c -f -- "$cur"))
                fi
                return
                ;;
            *) COMPREPLY+=("${word#"$cut"}") ;;
        esac
    done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} != --* && -d ${COMPREPLY[0]} ]] && compopt -o filenames
}
complete -F _wprof wprof
