#!/usr/bin/env bash
# Signs the images whose references it reads, and for each of them its bill of materials, which ko has put beside it.
set -euo pipefail
bill=$(mktemp)
trap 'rm -f "$bill"' EXIT
while read -r image; do
  cosign sign --yes "$image" </dev/null
  cosign download sbom "$image" </dev/null >"$bill"
  test -s "$bill" || { echo "$image has no bill of materials"; exit 1; }
  cosign attest --yes --type spdxjson --predicate "$bill" "$image" </dev/null
done
