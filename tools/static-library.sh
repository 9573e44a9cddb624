#!/bin/sh
# Make a static library of one object that shows only what is public:
#
#   tools/static-library.sh OUTPUT.a INPUT.a
#
# Hidden symbols become local, so that a program may link it beside anything else that has the same
# internal names.

set -eu

output=$1
input=$2
object=$output.o
trap 'rm -f "$object"' EXIT

ld -r -o "$object" --whole-archive "$input"
objcopy --localize-hidden "$object"
rm -f "$output"
ar rcs "$output" "$object"
