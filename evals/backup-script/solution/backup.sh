#!/bin/sh
# Copies every .txt file below a folder to FOLDER.bak.
set -eu
source=$1
export source
failed=$(find "$source" -name '*.txt' -type f -exec sh -c '
  for file; do
    target=$source.bak/${file#"$source"/}
    mkdir -p -- "$(dirname -- "$target")" && cp -- "$file" "$target" || echo failed
  done
' sh {} +)
test -z "$failed"
