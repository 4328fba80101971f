#!/bin/sh
# Draw the screenshots of terminals: a debugger, vim, ssh, sudo and a failing watch.
#
#     cargo build --bins --example picture && scripts/terminal-pictures.sh [PICTURE]
#
# PICTURE is the built example; the default is the debug build. Needs root, Python, vim, OpenSSH with its server, sudo and
# util-linux. The host `build-server` is a server on the loopback interface. The user `casey` exists only in a mount namespace.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
picture=${1:-${CARGO_TARGET_DIR:-$root/target}/debug/examples/picture}
out=$root/docs/pictures
# The pictures show this path.
work=/tmp/pictures
mkdir "$work"
server=
trap 'kill ${server:-}; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/server"

# A server with its own keys and a fixed prompt.
for key in host user; do
    ssh-keygen -q -t ed25519 -N '' -f "$work/$key"
done
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/sshd_config" <<END
ListenAddress 127.0.0.1:$port
HostKey $work/host
AuthorizedKeysFile $work/user.pub
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile none
PrintMotd no
ForceCommand cd $work/server && PS1='build-server:~\\$ ' exec bash --norc --noprofile
END
cat >"$work/ssh_config" <<END
Host build-server
  HostName 127.0.0.1
  Port $port
  User root
  RequestTTY force
  ConnectionAttempts 50
  IdentityFile $work/user
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  LogLevel ERROR
END
printf '%s\n' '   Compiling shop v0.3.0' 'error: linker `cc` not found' 'error: could not compile `shop`' >"$work/server/build.log"
mkdir -p /run/sshd
/usr/sbin/sshd -D -f "$work/sshd_config" 2>/dev/null &
server=$!
printf '#!/bin/sh\nexec /usr/bin/ssh -F %s/ssh_config "$@"\n' "$work" >"$work/bin/ssh"

# A user who may use sudo.
cp /etc/passwd /etc/shadow "$work/"
echo 'casey:x:4321:4321::/:/bin/sh' >>"$work/passwd"
echo 'casey:*:19000:0:99999:7:::' >>"$work/shadow"
echo 'casey ALL=(ALL) ALL' >"$work/sudoers"
chmod 440 "$work/sudoers"
cat >"$work/bin/sudo" <<END
#!/bin/sh
exec unshare -m sh -c 'for file in passwd shadow sudoers; do mount --bind $work/\$file /etc/\$file; done; cd / && exec setpriv --reuid 4321 --regid 4321 --clear-groups /usr/bin/sudo -k "\$@"' sudo "\$@"
END
chmod +x "$work/bin/ssh" "$work/bin/sudo"
PATH=$work/bin:$PATH
export PATH

# Make a fresh project.
fresh() {
    rm -rf "$work/shop"
    mkdir "$work/shop"
    cd "$work/shop"
    cp "$out/terminals.json" .
    cat >cart.py <<'END'
def total(prices):
    total = 0
    for i in range(1, len(prices)):
        total += prices[i]
    return total


if __name__ == "__main__":
    print(total([3, 4, 5]))
END
    cat >watch.sh <<'END'
while :; do
    now=$(cksum cart.py)
    if [ "$now" != "$before" ]; then
        python3 -c 'import cart; assert cart.total([3, 4, 5]) == 9' 2>/dev/null &&
            echo 'test_total passed' || printf '\033[31mtest_total FAILED\033[m\n'
    fi
    before=$now
    sleep 0.1
done
END
    git init -q -b main
}

# Draw NAME with these steps.
draw() {
    fresh
    name=$1
    shift
    "$picture" 100x30 'wait=Ask' "$@" "draw=$out/terminal-$name.svg" -- --model script/terminals.json --permissions yolo
}

draw debugger 'type=Why is the total wrong?' 'key=\r' 'wait=skips the first' 'gone=Working'
draw vim 'type=Fix the range in vim' 'key=\r' 'wait=Shall I save' 'gone=Working' \
    'type=/terminal' 'key=\r' 'wait=enter type' 'wait=def total'
draw ssh 'type=Why does the build server fail?' 'key=\r' 'wait=is missing there' 'gone=Working'
draw sudo 'type=Install the new packages' 'key=\r' 'wait=Please type' 'gone=Working' \
    'type=/terminal' 'key=\r' 'wait=hidden input' 'wait=password for casey' 'key=\r' 'wait=leave'
draw watch 'type=Tell me when the tests fail' 'key=\r' 'wait=I revert it' 'gone=Working'
