//! What every test stands on: a root and a home of its own, an environment with nothing in it, and the program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_overspill");

/// No call may take longer; one that does is ended, and the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A scratch directory with a root, and a home beside it.
pub(crate) struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["root", "home"] {
            fs::create_dir(dir.path().join(name)).expect("a directory in the sandbox");
        }
        Sandbox { dir }
    }

    /// The project directory, which is also the working directory of every command.
    pub(crate) fn root(&self) -> PathBuf {
        // Without symbolic links, as the program shows it.
        self.dir
            .path()
            .join("root")
            .canonicalize()
            .expect("the root")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A place outside root and home.
    pub(crate) fn outside(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.root().join("tool-output")
    }

    /// Writes a file below the root, with the directories above it.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories in the root");
        fs::write(&path, content).expect("a file in the root");
        path
    }

    /// The program with arguments, in the root, with an environment of only `PATH` and `HOME`.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.root()).env_clear();
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home());
        command
    }

    /// Runs the program with nothing on stdin.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.pipe(arguments, b"")
    }

    /// Runs the program with `input` on stdin.
    pub(crate) fn pipe(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
        self.finish(self.command(arguments), input.as_ref())
    }

    /// Calls a tool, with flags before the call. Whatever it answers is a valid envelope, its exit code tells an error, and
    /// stderr stays empty.
    #[track_caller]
    pub(crate) fn call(&self, flags: &[&str], tool: &str, params: &Value) -> Value {
        let output = self.run(&[flags, &["call", tool, &params.to_string()]].concat());
        let envelope = valid_envelope(&output);
        output.quietly(i32::from(envelope["status"] == "error"));
        envelope
    }

    /// Runs a command with `input` on stdin to its end.
    pub(crate) fn finish(&self, mut command: Command, input: &[u8]) -> Output {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut stdin = child.stdin.take().expect("its stdin");
        thread::scope(|scope| {
            scope.spawn(move || {
                // A program that does not read all of it has its reasons; the test looks at what it says.
                let _ = stdin.write_all(input);
            });
            self.end(child)
        })
    }

    /// Waits for a child that was started with pipes; one that does not end is killed.
    pub(crate) fn end(&self, child: Child) -> Output {
        let process = pid(&child);
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        let Ok(ended) = receiver.recv_timeout(PATIENCE) else {
            let _ = kill_process(process, Signal::KILL);
            panic!("the program still ran after {PATIENCE:?}");
        };
        let ended = ended.expect("its output");
        Output {
            code: code(ended.status),
            stdout: ended.stdout,
            stderr: String::from_utf8(ended.stderr).expect("stderr is UTF-8"),
            root: self.root(),
        }
    }

    /// The names in the store, sorted; none if there is no store.
    pub(crate) fn stored(&self) -> Vec<String> {
        names(&self.store())
    }

    /// The spills in the store, in the order they were made.
    pub(crate) fn spills(&self) -> Vec<PathBuf> {
        let is_spill = |name: &String| name.starts_with("tool_");
        self.stored()
            .into_iter()
            .filter(is_spill)
            .map(|name| self.store().join(name))
            .collect()
    }

    /// The bytes of the one spill there is.
    pub(crate) fn spill(&self) -> Vec<u8> {
        let spills = self.spills();
        let [spill] = &spills[..] else {
            panic!("expected one spill, found {spills:?}")
        };
        fs::read(spill).expect("the spill")
    }

    /// Every path below the root with its bytes; `None` for what is no regular file. Shows whether anything was touched.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        walk(&self.root(), &mut found);
        found
    }
}

fn walk(dir: &Path, found: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry"))
    {
        let (path, kind) = (entry.path(), entry.file_type().expect("its type"));
        // A file that not even its owner may read is still a file.
        found.insert(
            path.clone(),
            kind.is_file().then(|| fs::read(&path).unwrap_or_default()),
        );
        if kind.is_dir() {
            walk(&path, found);
        }
    }
}

/// The names in a directory, sorted; none if it does not exist.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name in UTF-8")
        })
        .collect();
    names.sort();
    names
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    root: PathBuf,
}

impl Output {
    /// Panics unless the call ended with `code` and said nothing on stderr.
    #[track_caller]
    pub(crate) fn quietly(self, code: i32) -> Output {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (code, ""),
            "stdout: {}",
            self.text()
        );
        self
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("stdout is UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        let text = self.text();
        assert!(!text.trim_end().contains('\n'), "JSON is one line");
        serde_json::from_str(&text).expect("stdout is JSON")
    }

    /// What was printed, without what differs from run to run.
    pub(crate) fn stable(&self) -> String {
        stable(&self.text(), &self.root)
    }

    /// The one line on stderr, without what differs from run to run.
    #[track_caller]
    pub(crate) fn complaint(&self) -> String {
        let line = self
            .stderr
            .strip_suffix('\n')
            .unwrap_or_else(|| panic!("no line on stderr: {self:?}"));
        assert!(!line.contains('\n'), "more than one line on stderr: {line}");
        stable(line, &self.root)
    }

    /// Exit code, stdout and stderr, without what differs from run to run.
    pub(crate) fn report(&self) -> String {
        let mut report = format!("exit {}\n", self.code);
        if !self.stdout.is_empty() {
            report += &format!("--- stdout\n{}", self.stable());
        }
        if !self.stderr.is_empty() {
            report += &format!("--- stderr\n{}", stable(&self.stderr, &self.root));
        }
        report
    }
}

/// Replaces what differs from run to run: the program's path, the root, times and ids of spills.
pub(crate) fn stable(text: &str, root: &Path) -> String {
    let mut text = text
        .replace(PROGRAM, "overspill")
        .replace(&root.to_string_lossy().into_owned(), "[root]");
    while let Some(name) = spill_name(&text) {
        text = text.replace(&name, "<TIME>_<ID>");
        let id = name.rsplit('_').next().unwrap_or_default();
        text = text.replace(id, "<ID>");
    }
    text
}

/// Finds the time and id in the first name of a spill.
fn spill_name(text: &str) -> Option<String> {
    text.match_indices("tool_").find_map(|(at, word)| {
        let name = text.get(at + word.len()..at + word.len() + "20260101_000000_xxxxxxxx".len())?;
        let shape: String = name
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect();
        shape
            .starts_with("00000000_000000_")
            .then(|| name.to_owned())
    })
}

/// The code of a process, or 128 and its signal, as a shell would say.
fn code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .expect("a code or a signal")
}

pub(crate) fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Waits until `probe` has an answer; panics when it has none in time.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = probe() {
            return answer;
        }
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "waited in vain for {what}"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// The numbers from 1 to `last`, each on a line.
pub(crate) fn seq(last: usize) -> String {
    (1..=last).map(|n| format!("{n}\n")).collect()
}

/// Sets the time of a file's last change to `age` ago.
pub(crate) fn set_age(path: &Path, age: Duration) {
    let file = File::open(path).expect("a file to make older");
    file.set_modified(SystemTime::now() - age)
        .expect("its time");
}

/// Does `disturb` again and again in a thread while `work` is done, and stops also when that panics.
pub(crate) fn meanwhile(disturb: impl Fn() + Sync, work: impl FnOnce()) {
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                disturb();
            }
        });
        work();
    });
}

/// Makes a FIFO, which would block whoever opened it.
pub(crate) fn make_fifo(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a FIFO");
}

/// A small file system of its own, for tests of full and read-only disks.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Mounts a tmpfs; `None`, said loudly, where that is not allowed.
    pub(crate) fn tmpfs(at: &Path, options: &str) -> Option<Mount> {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(at)
            .output();
        if done.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(Mount(at.to_owned()));
        }
        // Past the capture of the test harness, which would hide it.
        let _ = writeln!(
            std::io::stderr(),
            "NOT TESTED: cannot mount a tmpfs ({options}): {done:?}"
        );
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let done = Command::new("umount").arg(&self.0).status();
        if !done.is_ok_and(|status| status.success()) {
            let _ = writeln!(std::io::stderr(), "still mounted: {}", self.0.display());
        }
    }
}

/// Panics unless `stdout` is one valid Standard Envelope v1.0 (SPEC section 5) on one line; returns it.
#[track_caller]
pub(crate) fn valid_envelope(output: &Output) -> Value {
    let envelope = output.json();
    if let Err(fault) = check_envelope(&envelope) {
        let shown = format!("{envelope:#}");
        panic!(
            "not a Standard Envelope: {fault}\n{}",
            &shown[..shown.floor_char_boundary(2000)]
        );
    }
    envelope
}

/// Returns an envelope without the time it took.
pub(crate) fn timeless(mut envelope: Value) -> Value {
    envelope["stats"]["time_ms"] = Value::Null;
    let text = envelope["text"].as_str().unwrap_or_default();
    if let Some((before, after)) = text.split_once("Took ")
        && let Some((_, after)) = after.split_once("ms)")
    {
        envelope["text"] = format!("{before}Took Tms){after}").into();
    }
    envelope
}

/// Checks every rule of SPEC section 5 that one envelope can show.
pub(crate) fn check_envelope(envelope: &Value) -> Result<(), String> {
    let need = |holds: bool, rule: &str| if holds { Ok(()) } else { Err(rule.to_owned()) };
    let top = envelope.as_object().ok_or("an object")?;
    const FIELDS: [&str; 5] = ["status", "data", "text", "stats", "context"];
    need(
        FIELDS.iter().all(|field| top.contains_key(*field)),
        "all five fields",
    )?;
    need(
        top.keys()
            .all(|key| FIELDS.contains(&key.as_str()) || key == "error"),
        "no other field at the top",
    )?;
    let status = envelope["status"].as_str().ok_or("`status` is a word")?;
    need(
        ["success", "partial", "error"].contains(&status),
        "`status` is success, partial or error",
    )?;
    need(
        (status == "error") == top.contains_key("error"),
        "`error` exactly when `status` is `error`",
    )?;
    let data = envelope["data"].as_object().ok_or("`data` is an object")?;
    need(
        data.get("truncated").is_none_or(Value::is_boolean),
        "`data.truncated` is a bool",
    )?;
    need(
        envelope["text"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "`text` is never empty",
    )?;
    need(
        envelope["stats"]["time_ms"].is_number(),
        "`stats.time_ms` is required",
    )?;
    let cwd = envelope["context"]["cwd"]
        .as_str()
        .ok_or("`context.cwd` is required")?;
    need(
        !cwd.starts_with('/'),
        "`context.cwd` is relative to the root",
    )?;
    need(
        !envelope["context"]["params_input"].is_null(),
        "`context.params_input` is required",
    )?;
    need(
        status != "success" || data.get("truncated") != Some(&Value::Bool(true)),
        "what is truncated is no complete success",
    )?;
    let resolved = envelope["context"].get("path_resolved");
    need(
        resolved.is_none_or(is_shown_path),
        "`context.path_resolved` is relative to the root",
    )?;
    check_items(data)?;
    if let Some(error) = top.get("error") {
        check_error(error, data)?;
    }
    if data.contains_key("truncation") {
        check_record(status, data)?;
    }
    Ok(())
}

/// Checks the lists that tools return.
fn check_items(data: &serde_json::Map<String, Value>) -> Result<(), String> {
    const LISTS: [(&str, Option<&str>); 5] = [
        ("matches", Some("file")),
        ("counts", Some("file")),
        ("entries", Some("path")),
        ("filenames", None),
        ("paths", None),
    ];
    for (name, key) in LISTS {
        let Some(list) = data.get(name) else { continue };
        let items = list.as_array().ok_or(format!("`data.{name}` is a list"))?;
        let path = |item: &Value| is_shown_path(key.map_or(item, |key| &item[key]));
        if !items.iter().all(path) {
            return Err(format!(
                "the paths of `data.{name}` are relative to the root"
            ));
        }
    }
    let is_match = |found: &Value| {
        let mut keys: Vec<&String> = found
            .as_object()
            .into_iter()
            .flat_map(|o| o.keys())
            .collect();
        keys.sort_unstable();
        keys == ["file", "line", "text"]
            && found["line"].as_u64().is_some_and(|line| line > 0)
            && found["text"]
                .as_str()
                .is_some_and(|text| !text.contains('\n'))
    };
    let matches = data.get("matches").and_then(Value::as_array);
    match matches.is_none_or(|matches| matches.iter().all(is_match)) {
        true => Ok(()),
        false => Err("a match is file, line and the text of one line".to_owned()),
    }
}

/// Tells whether a path is relative to the root. A spill may lie outside, and then has no such path.
fn is_shown_path(path: &Value) -> bool {
    path.as_str().is_some_and(|path| {
        let is_inside =
            !path.starts_with('/') && !path.starts_with("./") && !path.starts_with("../");
        !path.is_empty() && (is_inside || spill_name(path).is_some())
    })
}

fn check_error(error: &Value, data: &serde_json::Map<String, Value>) -> Result<(), String> {
    const CODES: [&str; 10] = [
        "NOT_FOUND",
        "ACCESS_DENIED",
        "PERMISSION_DENIED",
        "INVALID_PARAM",
        "TIMEOUT",
        "INTERNAL_ERROR",
        "EXECUTION_ERROR",
        "CONFLICT",
        "IS_DIRECTORY",
        "BINARY_FILE",
    ];
    let members = error.as_object().ok_or("`error` is an object")?;
    let mut keys: Vec<&str> = members.keys().map(String::as_str).collect();
    keys.sort_unstable();
    if keys != ["code", "message"]
        || !error["code"]
            .as_str()
            .is_some_and(|code| CODES.contains(&code))
    {
        return Err("`error` is a known code and a message".to_owned());
    }
    if error["message"].as_str().is_none_or(str::is_empty) {
        return Err("`error.message` says something".to_owned());
    }
    if !data.is_empty() && !data.contains_key("truncation") {
        return Err("with `error`, `data` is {} unless a cut put its record there".to_owned());
    }
    Ok(())
}

fn check_record(status: &str, data: &serde_json::Map<String, Value>) -> Result<(), String> {
    let mut keys: Vec<&str> = data.keys().map(String::as_str).collect();
    // Why there is no more of it, where it was not the cut alone.
    keys.retain(|key| *key != "aborted_reason");
    keys.sort_unstable();
    if keys != ["preview", "truncated", "truncation"] || data["truncated"] != Value::Bool(true) {
        return Err("bounded `data` is truncated: true, truncation and preview".to_owned());
    }
    if status == "success" {
        return Err("a bounded envelope is `partial` or `error`".to_owned());
    }
    let (record, preview) = (
        &data["truncation"],
        data["preview"].as_str().ok_or("`preview` is a text")?,
    );
    const NUMBERS: [&str; 5] = [
        "original_lines",
        "original_bytes",
        "kept_lines",
        "kept_bytes",
        "removed",
    ];
    if let Some(key) = NUMBERS.into_iter().find(|key| !record[*key].is_u64()) {
        return Err(format!("`truncation.{key}` is a number"));
    }
    const LIMITS: [&str; 2] = ["max_lines", "max_bytes"];
    if let Some(key) = LIMITS.into_iter().find(|key| {
        !record
            .get(key)
            .is_some_and(|limit| limit.is_u64() || limit.is_null())
    }) {
        return Err(format!("`truncation.{key}` is a limit or null"));
    }
    let word = |key: &str| record[key].as_str().unwrap_or("").to_owned();
    if !["head", "tail", "head_tail", "smart"].contains(&word("direction").as_str()) {
        return Err("`truncation.direction` is the strategy's name".to_owned());
    }
    if !["lines", "bytes", "chars", "tokens"].contains(&word("unit").as_str()) {
        return Err("`truncation.unit` is a unit".to_owned());
    }
    match record.get("full_output_path") {
        Some(Value::String(_)) if record["id"].is_string() => {}
        Some(Value::Null) if record["reason"].is_string() => {}
        _ => return Err("`full_output_path` with its id, or null with a reason".to_owned()),
    }
    if preview.is_empty() {
        return Err("the preview is never empty".to_owned());
    }
    let over = |key: &str, size: usize| record[key].as_u64().is_some_and(|max| size as u64 > max);
    if over("max_lines", preview.lines().count()) || over("max_bytes", preview.len()) {
        return Err("the preview is within its limits".to_owned());
    }
    Ok(())
}
