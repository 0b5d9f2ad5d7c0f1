#!/usr/bin/env bash
# Prints where the time of a test run went: its slowest packages, in seconds, from what gotestsum kept.
# usage: test-times.sh DIRECTORY TOP
set -euo pipefail
directory=$1 top=$2
if ! compgen -G "$directory/*.json" >/dev/null; then
  echo "no test results in $directory: run make test first" >&2
  exit 1
fi
echo "== the $top slowest packages, in seconds (0 when cached)"
# A package's own line ends its tests; it alone has no "Test". Packages of one run overlap, so their sum is more than it took.
cat "$directory"/*.json | grep -v '"Test":' | grep -E '"Action":"(pass|fail)"' |
  sed -nE 's#.*"Package":"[^"]*/labplatform/labplatform/([^"]*)".*"Elapsed":([0-9.]+).*#\2 \1#p' |
  sort -rn | head -n "$top" | awk '{printf "%9.1f  %s\n", $1, $2}' || true
