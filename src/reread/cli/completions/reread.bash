# bash completion for reread
_reread() {
    local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT}
    local word=${line##*[[:space:]]} files=
    COMPREPLY=($(reread completion --line "$line" 2>/dev/null | cut -f1))
    case " ${COMPREPLY[*]}" in *:files) files=1; unset "COMPREPLY[${#COMPREPLY[@]}-1]" ;; esac
    case $word in *[=:]*) COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[=:]}"}"}") ;; esac  # where bash breaks words
    case $word in @*) compopt +o filenames 2>/dev/null ;; esac  # which would be quoted
    [ -z "$files" ] || [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${word##*[=:]}"))
}
complete -o filenames -F _reread reread
