#!/bin/sh
# Copies every .txt file below a folder to FOLDER.bak.
for file in $(find $1 -name '*.txt'); do
  target=$1.bak/${file#$1/}
  mkdir -p $(dirname $target)
  cp $file $target
done
