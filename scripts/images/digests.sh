#!/bin/sh
# Reads what ko prints, a line for each image, and prints values of charts/lab that name these images by their digests.
set -eu
exec awk '
/@sha256:[0-9a-f]+$/ {
  digest = $0; sub(/.*@/, "", digest)
  repository = $0; sub(/@.*/, "", repository); sub(/:[^:\/]*$/, "", repository)
  name = repository; sub(/.*\//, "", name)
  if (name == "devstack") printf "engines: {images: {devstack: %s@%s}}\n", repository, digest
  else printf "%s: {image: {repository: %s, digest: \"%s\"}}\n", name, repository, digest
}'
