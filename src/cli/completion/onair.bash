# bash completion for onair. Completes files where onair has no candidates.
_onair() {
  local word before= lead= count=0
  local -a words=()
  COMPREPLY=()
  # bash splits --option=value at "=", and completes only the value.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ $word == "=" || $before == "=" ]] && (( count )); then
      words[count-1]+=$word
    else
      words[count++]=$word
    fi
    before=$word
  done
  word=${words[count-1]}
  [[ $word == --*=* && $COMP_WORDBREAKS == *=* ]] && lead=${word%%=*}=
  while IFS=$'\t' read -r word _; do
    COMPREPLY+=("${word#"$lead"}")
  done < <("${COMP_WORDS[0]}" completion words -- "${words[@]}" 2>/dev/null)
}
complete -o default -F _onair onair
