//! The table of words that tell of trouble, and how each may stand in a line.
//!
//! One row a word. A row holds for every tool and language that uses the word; nothing here is keyed to one program's
//! output beyond the shapes that many programs share. What makes a word benign (a count of nought, a flag, a file name, a
//! passed test) is decided in [`reading`](super::reading), not here.

/// What a word says of its line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sense {
    /// Something failed.
    Failure,
    /// Something is not as it should be; the usual words of the message itself.
    Trouble,
    /// Something to mind, that does not fail by itself.
    Warning,
    /// A value that a check compared.
    Values,
    /// How a program or a run of tests ended.
    Outcome,
    /// Something went well: what else the line says is benign.
    Pass,
    /// A level at which nothing fails.
    Calm,
}

/// How a word must stand to count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stand {
    /// Between characters that are not part of a word.
    Word,
    /// The same, or as the end of a type's name: `KeyError`, `java.io.IOException`.
    Type,
    /// Wherever its first word begins a word, or anywhere if it is not ASCII.
    Any,
    /// At the start of the line, behind its time stamp.
    Start,
}

/// A row of the table.
pub(super) struct Row {
    /// The word, in lower case; it is looked for in either case.
    pub(super) word: &'static str,
    pub(super) sense: Sense,
    pub(super) stand: Stand,
}

const fn row(word: &'static str, sense: Sense, stand: Stand) -> Row {
    Row { word, sense, stand }
}

macro_rules! rows {
    ($($sense:ident $stand:ident: $($word:literal)+;)+) => {
        /// Every word.
        pub(super) const ROWS: &[Row] = &[$($(row($word, Sense::$sense, Stand::$stand),)+)+];
    };
}

rows! {
    Failure Type: "error" "errors" "exception" "exceptions" "failure" "failures" "fault" "panic";
    Failure Word: "err" "fail" "fails" "failed" "failing" "fatal" "fatals" "panicked" "panics" "traceback" "critical"
        "severe" "emerg" "alert" "abort" "aborted" "aborting" "crash" "crashed" "crashes" "segfault" "killed"
        "oom" "oomkilled" "crashloopbackoff" "unhandled" "uncaught" "assertion" "bug" "sigsegv" "sigabrt" "sigkill"
        "unsuccessful" "erreur" "fehler" "fehlgeschlagen" "fallo" "errore" "erro" "hata";
    Failure Any: "segmentation fault" "core dumped" "out of memory" "no space left" "stack overflow" "caused by"
        "undefined reference" "went wrong" "build failed" "build failure" "double free" "data race" "race condition" "use after free" "memory leak" "not ok " "错误" "失败" "异常" "致命" "エラー" "失敗" "ошибка" "오류" "실패" "例外" "échec" "błąd" "falló"
        "✗" "✘" "✖" "✕" "❌" "🔴";
    Failure Start: "wrapped by: " "e: " "e   " "make: ***" "*** " "● " "× " "! " "fail ";
    Trouble Word: "cannot" "can't" "couldn't" "undefined" "undeclared" "unresolved" "unknown" "unrecognized" "unrecognised"
        "unexpected" "invalid" "illegal" "missing" "denied" "refused" "forbidden" "unauthorized" "rejected" "conflict"
        "conflicts" "mismatch" "mismatched" "incompatible" "corrupt" "corrupted" "timeout" "unreachable" "unsupported"
        "violation" "violates" "exceeded" "exceeds" "overflow" "deadlock" "leaked" "leak" "leaks" "wrong" "broken"
        "unsatisfied" "unmet" "duplicate" "ambiguous" "nonzero" "evicted" "unhealthy" "notready" "imagepullbackoff"
        "outdated" "interrupted" "terminated" "rollback" "nomatch" "stalled" "dead" "malformed" "unsafe" "expired"
        "invalidargument" "suppressed" "lost" "unterminated" "problem" "problems" "misplaced" "unbound" "unclosed" "uninitialised" "uninitialized" "dangling" "overlapping" "regression";
    Trouble Word: "enoent" "eacces" "eperm" "eisdir" "enotdir" "eexist" "enospc" "emfile" "epipe" "econnrefused" "econnreset"
        "etimedout" "ehostunreach" "eaddrinuse" "enotempty" "enotfound" "eresolve" "elifecycle" "einval";
    Trouble Any: "could not" "unable to" "not found" "no such" "not exist" "timed out" "not supported" "not allowed"
        "not defined" "not declared" "not a valid" "not permitted" "out of range" "out of bounds" "non-zero" "not ready" "back-off"
        "no module named" "no matching" "no match" "not match" "did not" "does not" "doesn't" "didn't" "must be" "must not" "not installed"
        "read-only" "too many" "too long" "too large" "is not" "not satisf" "未找到" "无法" "不能" "не найден";
    Warning Word: "warn" "warning" "warnings" "deprecated" "deprecation" "avertissement" "warnung" "advertencia";
    Warning Any: "警告" "⚠" "предупреждение";
    Values Word: "expected" "actual" "received" "got" "want" "wanted" "assert" "asserts" "should";
    Values Any: "but was" "to equal" "to be " "left: " "right: " "instead of";
    Outcome Any: "exit code" "exit status" "exited with" "returned non-zero" "exit value" "exit: " "exitcode"
        "tests run" "test result" "build success" "build finished" "result: " "results:" "summary"
        "process completed" "finished in" "finished:" "short test summary" "rerun" "re-run" "retrying" "giving up" "gave up";
    Outcome Word: "passing" "skipped" "errored";
    Calm Word: "info" "debug" "trace" "notice" "verbose" "note";
    Pass Word: "ok" "pass" "passed" "passes" "success" "successful" "successfully" "succeeded";
    Pass Any: "✓" "✔" "✅" "up to date" "up-to-date";
}
