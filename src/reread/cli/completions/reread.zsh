#compdef reread
_reread() {
    local -a found
    local line="${(j: :)words[1,CURRENT-1]} $PREFIX"
    found=("${(@f)$(reread completion --line "$line" 2>/dev/null)}")
    if [[ $PREFIX = --*=* ]]; then
        found=("${(@)found#*=}")
        compset -P 1 '*='
    fi
    [ "$found[-1]" != :files ] || { found[-1]=(); _files }
    found=("${(@)found//:/\\:}")
    found=("${(@)found/$'\t'/:}")
    _describe -V reread found
}
if [ "$funcstack[1]" = _reread ]; then _reread "$@"; else compdef _reread reread; fi
