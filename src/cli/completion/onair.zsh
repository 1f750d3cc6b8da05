#compdef onair
# zsh completion for onair. Completes files where onair has no candidates.
_onair() {
  local -a candidates
  local word meaning
  while IFS=$'\t' read -r word meaning; do
    candidates+=("${word//:/\\:}${meaning:+:$meaning}")
  done < <("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#candidates} )); then
    _describe onair candidates
  else
    compset -P '--*='
    _files
  fi
}
if [[ ${funcstack[1]} == _onair ]]; then
  _onair "$@"
else
  compdef _onair onair
fi
