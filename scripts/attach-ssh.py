#!/usr/bin/env python3
"""Measure how long `osier attach ssh://…` needs to join a session over a slow connection. Needs the OpenSSH server and root.

    cargo build --release && scripts/attach-ssh.py target/release/osier [MILLISECONDS]

Starts `sshd` with its own keys and a TCP proxy that delays every byte, with a round trip of MILLISECONDS (200). Prints the
time until the session is shown: when the server has to be started, and three times when it already runs; and for comparison
the time of `ssh HOST true`. Run it on an idle machine.
"""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

spec = importlib.util.spec_from_file_location("attach_echo", os.path.join(os.path.dirname(__file__), "attach-echo.py"))
attach = importlib.util.module_from_spec(spec)
spec.loader.exec_module(attach)


def start_sshd(folder, program):
    """Start the server of OpenSSH, whose users find `program` as `osier`. Return it, its port and the client's configuration."""
    os.makedirs("/run/sshd", exist_ok=True)
    os.mkdir(f"{folder}/bin")
    os.symlink(program, f"{folder}/bin/osier")
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}"], check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with open(f"{folder}/sshd_config", "w") as config:
        config.write(
            f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nStrictModes no\n"
            "PermitRootLogin yes\nPasswordAuthentication no\nUsePAM no\nPidFile none\n"
            f"SetEnv PATH={folder}/bin:{os.environ['PATH']} OSIER_HOME={folder}/server OSIER_MODEL=script/{folder}/model.json\n"
        )
    client = f"{folder}/ssh_config"
    with open(client, "w") as config:
        config.write(
            f"Host *\n  IdentityFile {folder}/user\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  LogLevel ERROR\n"
        )
    return subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", f"{folder}/sshd_config"], stderr=subprocess.DEVNULL), port, client


def main():
    program = os.path.abspath(sys.argv[1])
    delay = (float(sys.argv[2]) if len(sys.argv) > 2 else 200) / 2000
    folder = tempfile.mkdtemp()
    for name in ("home", "server", "work"):
        os.mkdir(f"{folder}/{name}")
    for name in ("home", "server"):
        with open(f"{folder}/{name}/settings.toml", "w") as settings:
            settings.write(f'discover_local_models = false\nmodel = "script/{folder}/model.json"\n')
    with open(f"{folder}/model.json", "w") as file:
        json.dump({"turns": [{"repeat": True, "steps": [{"text": "ok"}]}]}, file)
    sshd, port, client = start_sshd(folder, program)
    try:
        time.sleep(0.5)
        proxy = attach.SlowProxy(port, delay)
        ssh = ["ssh", "-F", client]
        start = time.monotonic()
        subprocess.run([*ssh, "-p", str(proxy.local_port), "root@127.0.0.1", "true"], check=True)
        print(f"round trip {2000 * delay:.0f} ms; `ssh HOST true`: {(time.monotonic() - start) * 1000:.0f} ms")
        url = f"ssh://root@127.0.0.1:{proxy.local_port}{folder}/work"
        for state in ("server started", "joined", "joined", "joined"):
            screen = attach.Screen([program, "attach", url, "--ssh", " ".join(ssh)], f"{folder}/work", f"{folder}/home")
            took, _ = screen.shows(rb"on root@127\.0\.0\.1|on 127\.0\.0\.1")
            print(f"{state}: {took:.0f} ms")
            screen.write(b"\x04")
            os.waitpid(screen.pid, 0)
    finally:
        subprocess.run([program, "serve", "stop"], env={**os.environ, "OSIER_HOME": f"{folder}/server"}, check=False)
        sshd.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
