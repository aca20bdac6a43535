#!/bin/sh
# How many commands of each file the gate accepts, and which it does not: gate-figures.sh [-v] FILE…
# A file holds JSON Lines with a member "cmd". Run it in the repository.
set -eu
verbose=
if [ "${1:-}" = -v ]; then
	verbose=1
	shift
fi
dk=$(mktemp)
out=$(mktemp)
trap 'rm -f "$dk" "$out"' EXIT
go build -o "$dk" ./cmd/dk
for file; do
	"$dk" gate --defaults --lines "$file" >"$out"
	all=$(wc -l <"$out")
	allowed=$(grep -c '"decision":"allow"' "$out" || true)
	echo "$file: $allowed of $all accepted ($(awk "BEGIN { printf \"%.1f\", 100 * $allowed / $all }") %)"
	if [ -n "$verbose" ]; then
		grep '"decision":"refuse"' "$out" || true
	fi
done
