# fish completion for onair. Completes files where onair has no candidates.
function __onair_words
    set -l before (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --current-token --cut-at-cursor)
    $before[1] completion words -- $before[2..-1] "$current" 2>/dev/null
end
complete --command onair --condition 'count (__onair_words) >/dev/null' --no-files --arguments '(__onair_words)'
