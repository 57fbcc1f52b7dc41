"""The repository's pre-commit hook: the rules of :mod:`camg_letta.frontmatter` for the policy's own ``git commit``.

It runs in the box, as part of the policy's git. What gets past it (``--no-verify``) is found when the prompt is
compiled.
"""

HOOK = r"""#!/usr/bin/env bash
# Front matter of what is committed below system/ and reference/.
wrong=0
fault() { printf '%s: %s\n' "$1" "$2" >&2; wrong=1; }

# Reads a file; sets `shape` (missing, open, closed), `keys`, and `value_KEY` with what `has_KEY` says is there.
take_apart() {
  local line key number=0 current=
  shape=missing keys=() has_description= value_description= has_read_only= value_read_only=
  while IFS= read -r line || [ -n "$line" ]; do
    line=${line%$'\r'} number=$((number + 1))
    if [ $number = 1 ]; then [ "$line" = --- ] || return; shape=open; continue; fi
    if [ "$line" = --- ]; then shape=closed; return; fi
    case $line in
      [[:blank:]]*) add "$current" "${line#"${line%%[![:space:]]*}"}"; continue ;;
      '') current=; continue ;;
    esac
    key=${line%%:*}; key=${key%"${key##*[![:space:]]}"}
    keys+=("$key") current=
    case $key in description|read_only) eval "[ \$has_$key ]" || current=$key; eval "has_$key=yes" ;; esac
    case $line in *:*) line=${line#*:}; add "$current" "${line#"${line%%[![:space:]]*}"}" ;; esac
  done
}
add() {
  local text=${2%"${2##*[![:space:]]}"}
  case $1 in
    description) value_description+=$text ;;
    read_only) value_read_only+=${value_read_only:+ }$text ;;
  esac
}

while IFS= read -r -d '' path; do
  case $path in system/*.md|reference/*.md) ;; *) continue ;; esac
  take_apart < <(git cat-file blob "HEAD:$path" 2>/dev/null)
  [ $shape = closed ] || { has_read_only= value_read_only=; }
  before_has=$has_read_only before=$value_read_only
  if [ "$before" = true ]; then fault "$path" "the file is read_only and cannot be modified"; continue; fi
  git cat-file -e ":$path" 2>/dev/null || continue # deleted
  take_apart < <(git cat-file blob ":$path")
  case $shape in
    missing) fault "$path" "missing front matter: the first line must be ---"; continue ;;
    open) fault "$path" "the front matter is not closed by a line ---"; continue ;;
  esac
  for key in "${keys[@]}"; do
    case $key in
      description|read_only|limit) ;;
      *) fault "$path" "unknown key '$key' in the front matter (allowed: description read_only limit)" ;;
    esac
  done
  [ -n "$value_description" ] || fault "$path" "the front matter needs a non-empty description"
  [ "$has_read_only$value_read_only" = "$before_has$before" ] ||
    fault "$path" "read_only is protected: it cannot be added, changed or removed"
done < <(git diff --cached --name-only -z --no-renames --diff-filter=ACMD)
exit $wrong
"""
