# fish completion for reread
function __reread_offered
    for each in (reread completion --line (commandline -cp | string collect) 2>/dev/null)
        if test "$each" = :files
            __fish_complete_path (commandline -ct | string replace -r '^--[^=]*=' '')
        else
            echo $each
        end
    end
end
complete -c reread -f -k -a '(__reread_offered)'
