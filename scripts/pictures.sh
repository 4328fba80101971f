#!/bin/sh
# Draws the pictures of the documentation from the program itself: every screen in two themes and two sizes.
#
#     cargo build --bins --example picture && scripts/pictures.sh [PICTURE]
#
# PICTURE is the built example; that of the debug build when it is not given.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
picture=${1:-${CARGO_TARGET_DIR:-$root/target}/debug/examples/picture}
out=$root/docs/pictures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A fresh copy of the project that the tour mends.
fresh() {
    rm -rf "$work/slug"
    cp -r "$root/assets/tour" "$work/slug"
    cp "$out"/*.json "$work/slug/"
    git -C "$work/slug" init -q -b main
    cd "$work/slug"
}

# The picture of the README.
fresh
"$picture" 100x38 'wait=Ask' 'type=Why does the last check fail?' 'key=\r' 'wait=of any length' 'gone=Working' \
    "draw=$out/conversation.svg" -- --model script/conversation.json

for look in dark:120x40 light:120x40 dark:80x24 light:80x24; do
    theme=${look%%:*}
    size=${look##*:}
    end=$theme-${size%%x*}.svg
    fresh
    "$picture" "$size" --theme "$theme" \
        'wait=Ask' 'wait=is ready' "draw=$out/start-$end" \
        'type=Why does the last check fail?' 'key=\r' 'wait=of any length' 'gone=Working' "draw=$out/tools-$end" \
        'type=/diff' 'key=\r' 'wait=since the session' "draw=$out/diff-$end" 'key=\e' 'gone=since the session' \
        'type=/undo' 'key=\r' 'gone=of any length' 'wait=last check fail?' 'key=\r' 'wait=another way' 'gone=Working' \
        'type=/tree' 'key=\r' 'wait=Tree' 'wait=filter' "draw=$out/tree-$end" \
        'key=d' 'wait=compare with' 'key=\e[A' 'key=\e[A' 'key=d' 'wait=Compare branches' "draw=$out/compare-$end" 'key=\e' 'key=\e' 'gone=Tree' \
        'type=Watch the folder' 'key=\r' 'wait=in the background.' 'gone=Working' \
        'key=\ej' 'wait=watching' "draw=$out/jobs-$end" 'key=\e' 'gone=Jobs' \
        'key=\ep' 'wait=ask' 'type=Say it in the README' 'key=\r' 'wait=answers' 'key=\ea' 'wait=once' \
        "draw=$out/question-$end" 'key=\r' 'wait=another way' 'gone=Working' \
        'key=^L' 'wait=script' "draw=$out/models-$end" 'key=\e' 'gone=Models' \
        'key=\ex' 'wait=Actions' "draw=$out/palette-$end" 'key=\e' 'gone=Actions' \
        'key=\es' 'wait=Sessions' "draw=$out/sessions-$end" 'key=\e' 'gone=Sessions' \
        'type=/context' 'key=\r' 'wait=system' "draw=$out/context-$end" 'key=\e' \
        'key=\eOP' 'wait=send the prompt' "draw=$out/help-$end" 'key=\e' \
        'type=/settings' 'key=\r' 'wait=theme' "draw=$out/settings-$end" 'key=\e' \
        'type=/keymap' 'key=\r' 'wait=enter' "draw=$out/keymap-$end" 'key=\e' \
        'type=/theme' 'key=\r' 'wait=Themes' "draw=$out/themes-$end" 'key=\e' 'gone=Themes' \
        'type=What is the plan?' 'key=\r' 'wait=still op' "draw=$out/answer-$end" \
        -- --model script/screens.json
done
