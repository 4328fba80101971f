//! Sessions that another process takes over.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use osier_protocol::{HolderState, SessionHolder};

use super::locking::Holder;
use super::*;
use crate::{HandoverSocket, SessionError, TakeOver, holder, take_over};

/// A stored session, and the folder of its socket.
async fn stored(data: &TestData) -> (SessionStore, PathBuf, PathBuf) {
    let store = data.create();
    store.append(user("mine")).await.unwrap();
    let path = path_of(&store).to_owned();
    let folder = data.directory.path().join("handover");
    (store, path, folder)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test]
async fn process_that_listens_hands_the_session_over() {
    let data = TestData::new();
    let (store, path, folder) = stored(&data).await;
    let socket = HandoverSocket::bind(&folder, store.id(), &path).unwrap();
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let is_working = AtomicBool::new(true);
    let requested = async {
        let process = socket
            .requested(|| is_working.load(Ordering::Relaxed))
            .await;
        assert_eq!(process, std::process::id());
        store.close().await.unwrap();
    };
    let (place, of) = (folder.clone(), path.clone());
    let asking = async {
        let (folder, path) = (place.clone(), of.clone());
        let found = blocking(move || holder(&folder, &path)).await;
        let process = Some(std::process::id());
        let expected = SessionHolder {
            process,
            state: HolderState::Ready,
            working: true,
        };
        assert_eq!(found, expected);
        blocking(move || take_over(&place, &of, TakeOver::Ask)).await
    };
    let ((), taken) = tokio::join!(requested, asking);
    // The run of the other process was stopped for the handover.
    assert!(taken.unwrap());
    SessionStore::open(&path).unwrap();
    // A session that no process has open is free at once.
    assert!(!take_over(&folder, &path, TakeOver::Ask).unwrap());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[tokio::test]
async fn folder_that_others_can_open_is_not_used() {
    let data = TestData::new();
    let (store, path, folder) = stored(&data).await;
    let socket = HandoverSocket::bind(&folder, store.id(), &path).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = take_over(&folder, &path, TakeOver::Ask);
    assert!(
        matches!(refused, Err(SessionError::NotHandedOver { .. })),
        "{refused:?}"
    );
    // This process is not ended.
    let refused = take_over(&folder, &path, TakeOver::End);
    assert!(
        matches!(refused, Err(SessionError::NotHandedOver { .. })),
        "{refused:?}"
    );
    drop(socket);
    store.append(user("still mine")).await.unwrap();
}

#[tokio::test]
async fn socket_of_another_file_with_the_same_id_refuses() {
    let data = TestData::new();
    let (store, path, folder) = stored(&data).await;
    let socket = HandoverSocket::bind(&folder, store.id(), &path).unwrap();
    let copy = path.with_file_name(format!("copy_{}.jsonl", store.id()));
    std::fs::copy(&path, &copy).unwrap();
    let Some((process, true)) = Holder::start(&copy) else {
        return;
    };
    let asked = copy.clone();
    let asking = blocking(move || holder(&folder, &asked));
    let found = tokio::select! {
        _ = socket.requested(|| false) => panic!("the session was handed over"),
        found = asking => found,
    };
    assert_eq!(
        (found.state, found.process),
        (HolderState::Older, Some(process.0.id()))
    );
}

#[tokio::test]
async fn process_that_cannot_answer_is_ended() {
    let data = TestData::new();
    let (store, path, folder) = stored(&data).await;
    store.close().await.unwrap();
    for (is_stopped, is_deaf) in [(false, false), (true, false), (false, true)] {
        let start = if is_deaf { Holder::deaf } else { Holder::start };
        let Some((mut process, got_it)) = start(&path) else {
            return;
        };
        assert!(got_it);
        let pid = process.0.id();
        if is_stopped {
            let pid = rustix::process::Pid::from_child(&process.0);
            rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
            let stat = format!("/proc/{}/stat", process.0.id());
            while !std::fs::read_to_string(&stat).unwrap().contains(") T") {
                osier_testing::poll::pause();
            }
        }
        let state = if is_stopped {
            HolderState::Stopped
        } else {
            HolderState::Older
        };
        let expected = SessionHolder {
            process: Some(pid),
            state,
            working: false,
        };
        assert_eq!(holder(&folder, &path), expected);
        let refused = take_over(&folder, &path, TakeOver::Ask).unwrap_err();
        let SessionError::NotHandedOver { pid: named, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(named, Some(pid));
        take_over(&folder, &path, TakeOver::End).unwrap();
        assert!(!process.0.wait().unwrap().success());
        let (store, loaded) = open(&path).await;
        assert_eq!(loaded.entries.len(), 1);
        store.close().await.unwrap();
    }
}

/// Locks the session, listens as `how` says, and waits for the end of standard input.
const LISTEN: &str = r#"
import fcntl, os, socket, sys, threading, time
path, place, how = sys.argv[1:]
session = open(path, "rb")
fcntl.flock(session, fcntl.LOCK_EX)
listener = socket.socket(socket.AF_UNIX)
listener.bind(place)
listener.listen(0 if how == "full" else 16)
waiting = []
while how == "full":
    client = socket.socket(socket.AF_UNIX)
    client.setblocking(False)
    try:
        client.connect(place)
    except BlockingIOError:
        break
    waiting.append(client)

def drip(client):
    while True:
        client.send(b" ")
        time.sleep(0.05)

def claim(client):
    client.recv(65536)
    client.send(b'{"process": 1, "working": true}\n')

def serve():
    while True:
        client = listener.accept()[0]
        waiting.append(client)
        threading.Thread(target=drip if how == "drip" else claim, args=[client], daemon=True).start()

if how != "full":
    threading.Thread(target=serve, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"#;

#[tokio::test]
async fn process_that_accepts_nothing_or_never_ends_its_answer_is_silent() {
    let data = TestData::new();
    let (store, path, folder) = stored(&data).await;
    let socket = folder.join(store.id());
    store.close().await.unwrap();
    osier_base::private::create_folder(&folder).unwrap();
    for (how, state) in [
        ("full", HolderState::Silent),
        ("drip", HolderState::Silent),
        ("claim", HolderState::Ready),
    ] {
        let arguments = [&*path.to_string_lossy(), &*socket.to_string_lossy(), how];
        let Some(process) = Holder::listening(LISTEN, &arguments) else {
            return;
        };
        // The number is the one of the system, not the one in the answer.
        let expected = SessionHolder {
            process: Some(process.0.id()),
            state,
            working: how == "claim",
        };
        assert_eq!(holder(&folder, &path), expected, "{how}");
        drop(process);
        std::fs::remove_file(&socket).unwrap();
    }
}
