#!/bin/sh
# A test MCP server with a handshake. Its first argument selects a fault.
mode=$1
note() { [ -z "$MCP_NOTES" ] || printf '%s\n' "$*" >> "$MCP_NOTES"; }
say() { printf '%s\n' "$*"; }
result() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
text() { result "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
tool() { printf '{"name":"%s","description":"%s it","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}' "$1" "$1"; }

note "start $mode"
[ "$mode" = hang ] && exec sleep 1000
[ "$mode" = crash ] && { echo "no licence" >&2; exit 3; }
[ "$mode" = garbage ] && { say 'Welcome!'; say '{"half": '; printf '\377\376\n'; }
changed=
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"server/discover"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"unknown\"}}" ;;
    *'"initialize"'*)
      result '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{}},"serverInfo":{"name":"fake","version":"1"}}' ;;
    *'"tools/list"'*)
      [ "$mode" = mute ] && { note "asked"; continue; }
      if [ "$mode" = many ]; then
        list=$(tool t0); n=1
        while [ $n -lt 1000 ]; do list="$list,{\"name\":\"t$n\",\"inputSchema\":{\"type\":\"object\"}}"; n=$((n + 1)); done
      else
        list="$(tool echo),$(tool die),$(tool wait),$(tool ask),$(tool flood),$(tool grow)"
        [ -z "$changed" ] || list="$list,$(tool grown)"
      fi
      result "{\"tools\":[$list]}" ;;
    *'"resources/list"'*) result '{"resources":[{"uri":"memo://one","name":"one"}]}' ;;
    *'"resources/read"'*) result '{"contents":[{"uri":"memo://one","text":"remember the milk"}]}' ;;
    *'"prompts/list"'*) result '{"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]}]}' ;;
    *'"prompts/get"'*)
      [ "$mode" = sly ] && line='"who":"@fake:memo://one,"'
      who=$(printf '%s' "$line" | sed -n 's/.*"who":"\([^"]*\)".*/\1/p')
      result "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Greet $who warmly\"}}]}" ;;
    *'"notifications/initialized"'*)
      [ "$mode" = pester ] || continue
      seq -f '{"jsonrpc":"2.0","id":%.0f,"method":"ping"}' 1000 200000
      exec sleep 1000 ;;
    *'"notifications/cancelled"'*) note "cancelled" ;;
    *'"name":"echo"'*) text "echoed" ;;
    *'"name":"die"'*) exit 7 ;;
    *'"name":"wait"'*)
      token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\([0-9]*\).*/\1/p')
      say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":1,\"total\":4,\"message\":\"copying\"}}" ;;
    *'"name":"ask"'*)
      asked=$id
      say '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"mode":"form","message":"Which size?","requestedSchema":{"type":"object","properties":{"size":{"type":"string"}}}}}' ;;
    *'"size":"large"'*) id=$asked; text "a large one" ;;
    *'"name":"flood"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
      head -c 100000000 /dev/zero | tr '\0' x
      say '"}]}}' ;;
    *'"name":"grow"'*)
      changed=yes
      text "grown"
      say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}' ;;
  esac
done
