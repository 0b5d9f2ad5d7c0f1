#!/usr/bin/env bash
# Compares the contracts with those of the main branch: a change that breaks callers is refused.
# usage: breaking.sh BUF PROTODEPS
set -euo pipefail
buf=$1 protodeps=$2
base=$(git rev-parse --verify --quiet origin/main || git rev-parse --verify --quiet main || true)
# On main itself the comparison is with the commit before.
if [ -n "$base" ] && [ "$base" = "$(git rev-parse HEAD)" ]; then base=$(git rev-parse --verify --quiet HEAD^1 || true); fi
if [ -z "$base" ] || ! git cat-file -e "$base:buf.yaml" 2>/dev/null; then
  echo "breaking: the main branch has no contracts yet"
  exit 0
fi
old=$(mktemp -d)
trap 'git worktree remove --force "$old/tree" >/dev/null 2>&1 || true; rm -rf "$old"' EXIT
git worktree add --quiet --detach "$old/tree" "$base"
"$protodeps" "$old/tree/.proto-deps" >/dev/null
# Contracts of services that do not exist yet may still change: what is not in the old tree cannot break.
for area in "$old"/tree/proto/lab/*/; do
  name=$(basename "$area")
  if [ "$name" != type ] && ! [ -d "$old/tree/services/$name" ]; then rm -rf "$area"; fi
done
"$buf" breaking proto --against "$old/tree/proto"
echo "breaking: the contracts of the existing services are compatible with $(git rev-parse --short "$base")"
