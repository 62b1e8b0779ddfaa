#!/bin/sh
# Records the exchange of server.gd and client.gd on the loopback interface into exchange.pcapng.
# Needs Wireshark's dumpcap and editcap, the right to capture, and Godot 4 as $GODOT4_BIN or godot.
set -eu
cd "$(dirname "$0")"
godot=${GODOT4_BIN:-godot}
raw=$(mktemp)

dumpcap -q -P -i lo -f "port 47000" -w "$raw" & capture=$!
trap 'kill $capture 2>/dev/null || true; rm -f "$raw"' EXIT
sleep 2
"$godot" --headless --script "$PWD/server.gd" & server=$!
sleep 3
"$godot" --headless --script "$PWD/client.gd"
wait $server
sleep 1 # dumpcap writes the last packets
kill $capture
wait $capture || true
editcap -F pcapng "$raw" exchange.pcapng # drops the description of the machine in the raw file
