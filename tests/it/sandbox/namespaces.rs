//! The namespaces and mounts that a command finds. They are the same with bubblewrap and with the starter.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use osier_base::process::Invocation;
use osier_protocol::SandboxMode;
use osier_sandbox::Confinement;
use osier_testing::skip;

use super::{Yard, run, ways};

/// Each mechanism with namespaces, with a sandbox in the mode `workspace`.
async fn with_namespaces(yard: &Yard) -> Vec<(&'static str, Confinement)> {
    let mut found = ways(yard).await;
    found.retain(|(way, _)| *way != "landlock");
    for (_, confinement) in &found {
        confinement.set(SandboxMode::Workspace, false, Vec::new());
    }
    found
}

/// Runs `script` in the sandbox, started by a program of the host that has run `before`. Returns its output.
fn output_after(before: &str, confinement: &Confinement, yard: &Yard, script: &str) -> String {
    let invocation = confinement
        .wrap(Invocation::new("/bin/bash", ["-c", script]))
        .unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("{before}\nexec \"$@\""), "sh"])
        .arg(&invocation.program)
        .args(&invocation.args)
        .envs(invocation.env)
        .current_dir(&yard.work)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn only_the_mounts_of_the_table_are_writable() {
    let yard = Yard::new();
    // The list also contains mounts that others hide.
    let script = "awk '$6 ~ /^rw/ { print $5 }' /proc/self/mountinfo";
    for (way, confinement) in with_namespaces(&yard).await {
        // With bubblewrap, some hidden mounts are writable.
        if way == "bubblewrap" {
            continue;
        }
        let (_, said) = run(&confinement, &yard, script);
        let work = yard.work.display().to_string();
        let mut expected = vec!["/dev", "/dev/pts", "/run", "/tmp", "/var/tmp", &work];
        expected.sort_unstable();
        let mut found: Vec<&str> = said.lines().collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{way}");
    }
}

#[tokio::test]
async fn mounts_have_the_options_of_bubblewrap() {
    let yard = Yard::new();
    // Only the last mount of a path is visible.
    let script = "awk '{ options[$5] = $6 } END { for (path in options) print path, options[path] }' /proc/self/mountinfo | sort";
    let mut all = Vec::new();
    for (way, confinement) in with_namespaces(&yard).await {
        let (ok, said) = run(&confinement, &yard, script);
        assert!(ok, "{way}: {said}");
        // bubblewrap also mounts over parts of the read-only `/proc`, shows the starter, and does not protect devices.
        let own = ["/proc/", "/run/osier-starter", "/dev/"];
        let is_own = |line: &&str| own.iter().any(|own| line.starts_with(own));
        let lines: Vec<String> = said
            .lines()
            .filter(|line| !is_own(line))
            .map(str::to_owned)
            .collect();
        all.push(lines);
    }
    if let [own, bubblewrap] = all.as_slice() {
        assert_eq!(own, bubblewrap);
    }
}

/// A device is a file of the host, whose mode root could change. bubblewrap cannot mount it read-only.
#[tokio::test]
async fn devices_of_the_host_keep_their_modes() {
    let yard = Yard::new();
    for (way, confinement) in with_namespaces(&yard).await {
        if way == "bubblewrap" {
            continue;
        }
        for script in [
            "chmod 666 /dev/null",
            "touch -m /dev/full",
            "chown 0:0 /dev/zero",
            "mv /dev/tty /dev/other",
        ] {
            let (ok, said) = run(&confinement, &yard, script);
            assert!(!ok, "{way}: {script}: {said}");
        }
        let script = "echo x > /dev/null && head -c 1 /dev/urandom > /dev/null && ! echo x 2> /dev/null > /dev/full";
        let (ok, said) = run(&confinement, &yard, script);
        assert!(ok, "{way}: {said}");
    }
}

#[tokio::test]
async fn a_command_finds_the_same_system_as_in_bubblewrap() {
    let yard = Yard::new();
    let script = "id; umask; env | grep -v '^\\(_\\|SHLVL\\)=' | sort; ls -l /dev | awk '{ print $1, $3, $4, $5, $6, $NF }' | grep -v '^total'; \
        stat -c '%n %A %U %G' /dev /dev/shm /dev/pts /dev/pts/ptmx /run /tmp /proc; ls -A /run | grep -v osier-starter; cat /proc/net/if_inet6; \
        cat /proc/net/fib_trie; grep -E '^(Cap|NoNewPrivs|Seccomp|Groups|Uid|Gid|Sig)' /proc/self/status; cat /proc/self/uid_map \
        /proc/self/gid_map /proc/self/setgroups; hostname; ls /proc/self/ns; cat /proc/sys/kernel/hostname; pwd; echo $$";
    let mut all = Vec::new();
    for (way, confinement) in with_namespaces(&yard).await {
        let (_, said) = run(&confinement, &yard, script);
        assert!(said.contains("NoNewPrivs:\t1"), "{way}: {said}");
        all.push(said);
    }
    if let [own, bubblewrap] = all.as_slice() {
        assert_eq!(own, bubblewrap);
    }
}

#[tokio::test]
async fn only_the_streams_are_open() {
    let yard = Yard::new();
    // In the first list, file 3 is the directory that `ls` reads.
    let script = "ls /proc/self/fd; ls /proc/1/fd";
    for (way, confinement) in with_namespaces(&yard).await {
        let before = format!("exec 7<> {}/file 8< /", yard.outside.display());
        let said = output_after(&before, &confinement, &yard, script);
        assert_eq!(said, "0\n1\n2\n3\n0\n1\n2\n", "{way}");
    }
}

/// The first process runs the starter, which is a file of the host.
#[tokio::test]
async fn the_first_process_leads_nowhere() {
    let yard = Yard::new();
    for (way, confinement) in with_namespaces(&yard).await {
        if way != "namespaces" {
            continue;
        }
        for script in [
            "readlink /proc/1/exe",
            "cat /proc/1/exe",
            "readlink /proc/1/root",
            "readlink /proc/1/cwd",
            "cat /proc/1/maps",
            "cat /proc/1/environ",
            "readlink /proc/1/fd/0",
            "ls /proc/1/map_files",
            "exec 3< /proc/1/mem",
            "exec 3< /proc/1/ns/mnt",
        ] {
            let (ok, said) = run(&confinement, &yard, script);
            assert!(!ok, "{way}: {script}: {said}");
        }
    }
}

/// A directory that commands can write to contains a mount that is read-only on the host.
#[tokio::test]
async fn read_only_mounts_of_the_host_stay_read_only() {
    let yard = Yard::new();
    for name in ["locked", "locked/inner", "source"] {
        fs::create_dir(yard.work.join(name)).unwrap();
    }
    let mounts = "mount --bind source locked && mount -o remount,bind,ro locked && mount -t tmpfs none locked/inner \
        && mount -o remount,ro locked/inner";
    fs::create_dir(yard.work.join("source/inner")).unwrap();
    for (way, confinement) in with_namespaces(&yard).await {
        let script =
            "touch locked/new; touch locked/inner/new; touch open && ls locked source locked/inner";
        let invocation = confinement
            .wrap(Invocation::new("/bin/bash", ["-c", script]))
            .unwrap();
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
            .args([&format!("{mounts} && exec \"$@\""), "sh"])
            .arg(&invocation.program)
            .args(&invocation.args)
            .envs(invocation.env)
            .current_dir(&yard.work)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        if super::lacks_namespaces(&errors) || errors.contains("mount:") {
            skip::unsupported("a user namespace", &errors);
            return;
        }
        assert!(output.status.success(), "{way}: {errors}");
        assert_eq!(
            errors.matches("Read-only file system").count(),
            2,
            "{way}: {errors}"
        );
        let listed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            listed, "locked:\ninner\n\nlocked/inner:\n\nsource:\ninner\n",
            "{way}"
        );
    }
}

/// If the program that started the sandbox is killed, the sandbox ends.
#[tokio::test]
async fn commands_end_with_the_program_that_started_them() {
    let yard = Yard::new();
    for (way, confinement) in with_namespaces(&yard).await {
        let invocation = confinement
            .wrap(Invocation::new(
                "/bin/bash",
                ["-c", "echo up; exec sleep 600"],
            ))
            .unwrap();
        let mut parent = Command::new("sh")
            .args(["-c", "\"$@\" & wait", "sh"])
            .arg(&invocation.program)
            .args(&invocation.args)
            .envs(invocation.env)
            .current_dir(&yard.work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(parent.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n", "{way}");
        parent.kill().unwrap();
        parent.wait().unwrap();
        let (send, ended) = mpsc::channel();
        std::thread::spawn(move || send.send(output.read_to_end(&mut Vec::new()).unwrap()));
        assert_eq!(ended.recv_timeout(Duration::from_mins(1)), Ok(0), "{way}");
    }
}

/// osier can end while it starts a command.
#[tokio::test]
async fn commands_of_a_program_that_has_ended_do_not_start() {
    let yard = Yard::new();
    for (way, confinement) in with_namespaces(&yard).await {
        if way == "bubblewrap" {
            continue;
        }
        let mut invocation = confinement
            .wrap(Invocation::new("/bin/bash", ["-c", "touch ran"]))
            .unwrap();
        assert_eq!(invocation.args[1], *format!("{:x}", std::process::id()));
        invocation.args[1] = format!("{:x}", i32::MAX).into();
        let status = Command::new(&invocation.program)
            .args(&invocation.args)
            .current_dir(&yard.work)
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(126), "{way}");
        assert!(!yard.work.join("ran").exists(), "{way}");
    }
}

#[tokio::test]
async fn exit_codes_are_those_of_the_command() {
    let yard = Yard::new();
    for (way, confinement) in with_namespaces(&yard).await {
        for (script, code) in [
            ("exit 0", 0),
            ("exit 3", 3),
            ("kill -9 $$", 137),
            ("kill -TERM $$", 143),
        ] {
            let invocation = confinement
                .wrap(Invocation::new("/bin/bash", ["-c", script]))
                .unwrap();
            let status = Command::new(&invocation.program)
                .args(&invocation.args)
                .envs(invocation.env)
                .current_dir(&yard.work)
                .status()
                .unwrap();
            assert_eq!(status.code(), Some(code), "{way}: {script}");
        }
    }
}

#[tokio::test]
async fn terminals_work() {
    if !skip::has(&["script"], "apt install bsdutils") {
        return;
    }
    let yard = Yard::new();
    for (way, confinement) in with_namespaces(&yard).await {
        let inner = "tty; python3 -c 'import os; print(os.ttyname(os.openpty()[1]))'; test -c /dev/console && echo console";
        let invocation = confinement
            .wrap(Invocation::new("/bin/bash", ["-c", inner]))
            .unwrap();
        let mut words = vec![invocation.program.clone()];
        words.extend(invocation.args.clone());
        let quoted: Vec<String> = words
            .iter()
            .map(|word| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''")))
            .collect();
        let output = Command::new("script")
            .args(["-qec", &quoted.join(" "), "/dev/null"])
            .env("SHELL", "/bin/sh")
            .envs(invocation.env)
            .current_dir(&yard.work)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, "/dev/console\r\n/dev/pts/0\r\nconsole\r\n", "{way}");
    }
}

/// A command of an earlier sandbox has created a link where the next sandbox mounts a directory.
#[tokio::test]
async fn links_do_not_redirect_mounts() {
    let yard = Yard::new();
    for (way, confinement) in with_namespaces(&yard).await {
        if way != "namespaces" {
            continue;
        }
        let folder = yard.work.join("extra");
        fs::create_dir_all(&folder).unwrap();
        confinement.set(SandboxMode::Workspace, false, vec![folder.clone()]);
        let invocation = confinement
            .wrap(Invocation::new("/bin/bash", ["-c", "echo x > extra/new"]))
            .unwrap();
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&yard.outside, &folder).unwrap();
        let output = Command::new(&invocation.program)
            .args(&invocation.args)
            .envs(invocation.env)
            .current_dir(&yard.work)
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        let expected = format!(
            "osier: the sandboxed command did not run: cannot open `{}`\n",
            folder.display()
        );
        assert_eq!(
            (output.status.code(), errors),
            (Some(126), expected),
            "{way}"
        );
        assert!(!yard.outside.join("new").exists());
        fs::remove_file(&folder).unwrap();
    }
}
