#!/bin/sh
# Draw the screenshots of the documentation with the program: every screen in two themes and four sizes.
#
#     cargo build --bins --example picture && scripts/pictures.sh [PICTURE]
#
# PICTURE is the built example; the default is the debug build.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
picture=${1:-${CARGO_TARGET_DIR:-$root/target}/debug/examples/picture}
out=$root/docs/pictures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Make a fresh copy of the project that the demo fixes.
fresh() {
    rm -rf "$work/slug"
    cp -r "$root/assets/tour" "$work/slug"
    cp "$out"/*.json "$work/slug/"
    cp "$out/chat-phone.png" "$work/slug/chat.png"
    git -C "$work/slug" init -q -b main
    cd "$work/slug"
}

# Draw the screenshot of the README.
fresh
"$picture" 100x38 'wait=Ask' 'type=Why does the last check fail?' 'key=\r' 'wait=any length' 'gone=Working' \
    "draw=$out/conversation.svg" -- --model script/conversation.json

# Draw the branches on a large screen.
fresh
"$picture" 160x45 --theme dark \
    'wait=Ask' 'wait=is ready' 'type=Why does the last check fail?' 'key=\r' 'wait=any length' 'gone=Working' \
    'type=/undo' 'key=\r' 'wait=Conversation only' 'key=\e[B' 'key=\r' 'gone=any length' 'wait=last check fail?' 'key=\r' 'wait=another way' 'gone=Working' \
    'type=/tree' 'key=\r' 'wait=Tree' 'wait=? keys' "draw=$out/tree-dark-160.svg" \
    'key=d' 'wait=compare with' 'key=G' 'key=d' 'wait=Compare branches' "draw=$out/compare-dark-160.svg" \
    'key=\e' 'key=\e' 'gone=Tree' 'key=^L' 'wait=script' "draw=$out/models-dark-160.svg" \
    -- --model script/screens.json

for variant in dark:120x40 light:120x40 dark:80x24 light:80x24 dark:100x30 dark:60x20; do
    theme=${variant%%:*}
    size=${variant##*:}
    end=$theme-${size%%x*}.svg
    fresh
    "$picture" "$size" --theme "$theme" \
        'wait=Ask' 'wait=is ready' "draw=$out/start-$end" \
        'type=Why does the last check fail?' 'key=\r' 'wait=any length' 'gone=Working' "draw=$out/tools-$end" \
        'type=/diff' 'key=\r' 'wait=since the session' "draw=$out/diff-$end" 'key=\e' 'gone=since the session' \
        'type=/undo' 'key=\r' 'wait=Conversation only' 'key=\e[B' 'key=\r' 'gone=any length' 'wait=last check fail?' 'key=\r' 'wait=another way' 'gone=Working' \
        'type=/tree' 'key=\r' 'wait=Tree' 'wait=? keys' "draw=$out/tree-$end" \
        'key=d' 'wait=compare with' 'key=G' 'key=d' 'wait=Compare branches' "draw=$out/compare-$end" 'key=\e' 'key=\e' 'gone=Tree' \
        'type=Watch the folder' 'key=\r' 'wait=in the background.' 'gone=Working' \
        'key=\ej' 'wait=watching' "draw=$out/jobs-$end" 'key=\e' 'gone=Jobs' \
        'key=\ep' 'wait=auto' 'key=\ep' 'wait=ask' 'type=Say it in the README' 'key=\r' 'wait=once' 'key=\ea' \
        "draw=$out/question-$end" 'key=\r' 'wait=another way' 'gone=Working' \
        'key=^L' 'wait=script' "draw=$out/models-$end" 'key=\e' 'gone=Models' \
        'key=\ex' 'wait=Commands' "draw=$out/palette-$end" 'key=\e' 'gone=Commands' \
        'key=\es' 'wait=Sessions' "draw=$out/sessions-$end" 'key=\e' 'gone=Sessions' \
        'type=/context' 'key=\r' 'wait=system' "draw=$out/context-$end" 'key=\e' 'gone=Largest' \
        'key=\eOP' 'wait=all keys' "draw=$out/help-$end" 'key=\e' 'gone=all keys' \
        'type=/settings' 'key=\r' 'wait=enter change' "draw=$out/settings-$end" 'key=\e' 'gone=Settings' \
        'type=/keymap' 'key=\r' 'wait=Stop the model' "draw=$out/keymap-$end" 'key=\e' 'gone=Stop the model' \
        'type=/theme' 'key=\r' 'wait=Themes' "draw=$out/themes-$end" 'key=\e' 'gone=Themes' \
        'type=What is the plan?' 'key=\r' 'wait=still op' "draw=$out/answer-$end" \
        -- --model script/screens.json
    fresh
    "$picture" "$size" --theme "$theme" \
        'wait=Ask' 'wait=is ready' \
        'key=\eo' 'wait=Tools' 'wait=bash' "draw=$out/toolbox-$end" 'key=\e' 'gone=Tools:' \
        'type=Which titles fail, and why?' 'key=^S' 'wait=stashed;' \
        'type=Write a check for titles in Greek' 'key=^S' \
        'key=\eg' 'wait=Stashed prompts' 'wait=in Greek' "draw=$out/stash-$end" 'key=\e' 'gone=Stashed prompts' \
        'type=/login' 'key=\r' 'wait=Sign in' "draw=$out/login-$end" 'key=\e' 'gone=Sign in' \
        'type=/settings' 'key=\r' 'wait=enter change' 'type=max_retries' 'key=\r' 'wait=enter save' \
        "draw=$out/value-$end" 'key=\e' 'gone=enter save' 'key=\e' 'gone=Settings' \
        'type=/keymap' 'key=\r' 'wait=command' 'type=retry_model' 'key=\r' 'wait=esc cancel' 'key=\et' \
        'wait=backspace' "draw=$out/capture-$end" 'key=\e' 'gone=backspace' 'key=\e' 'gone=bind keys' \
        'type=How does the chat look on a phone?' 'key=\r' 'wait=▀▀' 'gone=Working' \
        "draw=$out/picture-$end" \
        'key=\eN' 'wait=is ready' 'type=Watch the folder' 'key=\r' 'wait=in the background.' 'gone=Working' \
        'key=\ep' 'wait=auto' 'key=\ep' 'wait=ask' 'type=Tidy up' 'key=\r' 'wait=once' 'key=\ea' \
        'key=\e' 'wait=to answer' "draw=$out/questions-$end" \
        'key=\eN' 'wait=is ready' 'type=What is the plan?' 'key=\r' 'wait=still op' \
        'type=Then say it in the README' 'key=\r' 'type=And commit what is there' 'key=\e\r' 'wait=Queued:' \
        "draw=$out/queue-$end" 'key=\e0' 'wait=Tabs' "draw=$out/open-$end" 'key=\e' 'gone=Tabs' \
        'key=^R' 'wait=Prompt history' "draw=$out/history-$end" 'key=\e' 'gone=Prompt history' \
        'key=\eOS' 'wait=Permissions' "draw=$out/permissions-$end" 'key=\e' 'gone=Permissions' \
        'type=/settings' 'key=\r' 'wait=enter change' 'type=keymap' 'key=\r' 'wait=enter save' \
        'key=^U' 'type=emacs' 'key=\r' 'wait="emacs"' 'key=\e' 'gone=Settings' \
        'gone=Saved keymap' 'key=^X' 'wait=Choose a m' "draw=$out/hints-$end" \
        -- --model script/screens.json
done
