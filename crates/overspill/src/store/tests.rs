use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::*;

fn scratch() -> (TempDir, Store) {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path(), Path::new("tool-output"), Retention::default());
    (root, store)
}

fn save(store: &Store, text: &str) -> Saved {
    let mut spill = store.begin("Run").unwrap();
    spill.write(text.as_bytes()).unwrap();
    spill.commit(Format::Text).unwrap()
}

fn age(root: &TempDir, name: &str, days: u64) {
    let file = File::options()
        .append(true)
        .open(root.path().join("tool-output").join(name))
        .unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(86_400 * days))
        .unwrap();
}

fn names(root: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(root.path().join("tool-output")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_spill_is_private_and_ignored_by_git() {
    let (root, store) = scratch();
    let saved = save(&store, "all\n");
    let mode = |path: &str| {
        fs::metadata(root.path().join(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!((mode("tool-output"), mode(&saved.path)), (0o700, 0o600));
    assert_eq!(
        fs::read_to_string(root.path().join("tool-output/.gitignore")).unwrap(),
        "*\n"
    );
    assert_eq!(
        fs::read_to_string(root.path().join(&saved.path)).unwrap(),
        "all\n"
    );
}

#[test]
fn a_directory_with_other_files_gets_no_gitignore() {
    let (root, store) = scratch();
    fs::create_dir(root.path().join("tool-output")).unwrap();
    fs::write(root.path().join("tool-output/mine.rs"), "").unwrap();
    save(&store, "all\n");
    assert!(!root.path().join("tool-output/.gitignore").exists());
}

#[test]
fn an_unfinished_spill_leaves_nothing() {
    let (root, store) = scratch();
    let mut spill = store.begin("Run").unwrap();
    spill.write(b"half").unwrap();
    assert_eq!(names(&root).len(), 2, "the temporary file and .gitignore");
    drop(spill);
    assert_eq!(names(&root), [".gitignore"]);
}

#[test]
fn a_store_that_is_not_a_real_directory_is_refused() {
    let (root, store) = scratch();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), root.path().join("tool-output")).unwrap();
    assert_eq!(
        store.begin("Run").unwrap_err().to_string(),
        "`tool-output`: is a symbolic link, which is not followed"
    );
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);

    fs::remove_file(root.path().join("tool-output")).unwrap();
    fs::write(root.path().join("tool-output"), "").unwrap();
    assert_eq!(
        store.begin("Run").unwrap_err().to_string(),
        "`tool-output`: is not a directory"
    );

    symlink(elsewhere.path(), root.path().join("link")).unwrap();
    let nested = Store::new(root.path(), Path::new("link/deep"), Retention::default());
    assert_eq!(
        nested.begin("Run").unwrap_err().to_string(),
        "`link/deep`: is a symbolic link, which is not followed"
    );

    let outside = Store::new(root.path(), Path::new("../out"), Retention::default());
    assert_eq!(
        outside.begin("Run").unwrap_err().to_string(),
        "`../out`: leads outside the root"
    );
}

#[test]
fn an_absolute_directory_is_allowed() {
    let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::new(
        root.path(),
        &elsewhere.path().join("a/b"),
        Retention::default(),
    );
    let saved = save(&store, "all\n");
    assert!(Path::new(&saved.path).is_absolute());
    assert_eq!(store.find("latest").unwrap().path, saved.path);
}

#[test]
fn spills_are_found_by_id_prefix_path_and_latest() {
    let (root, store) = scratch();
    assert_eq!(store.list().unwrap(), []);
    let (first, second) = (save(&store, "1\n"), save(&store, "2\n"));
    assert_eq!(store.find("latest").unwrap().id, second.id);
    assert_eq!(store.find(first.id.as_str()).unwrap().path, first.path);
    assert_eq!(store.find(&first.path).unwrap().id, first.id);
    assert_eq!(
        store
            .find(&root.path().join(&first.path).to_string_lossy())
            .unwrap()
            .id,
        first.id
    );
    assert_eq!(store.list().unwrap().len(), 2);
    for wanted in ["zzzz", "", "../../etc/passwd", "/etc/passwd"] {
        let error = store.find(wanted).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("no spill `{wanted}` in `tool-output`; spills are kept 7 days")
        );
    }
}

#[test]
fn a_shared_prefix_is_ambiguous() {
    let (root, store) = scratch();
    save(&store, "");
    for id in ["aaaa0000", "aaaa1111"] {
        fs::write(
            root.path()
                .join(format!("tool-output/tool_20200101_000000_{id}_Run.txt")),
            "",
        )
        .unwrap();
    }
    let error = store.find("aaaa").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`aaaa` is the start of more than one id: `aaaa1111`, `aaaa0000`"
    );
    assert_eq!(store.find("aaaa0").unwrap().id.as_str(), "aaaa0000");
}

#[test]
fn of_an_envelope_the_text_is_found() {
    let (_root, store) = scratch();
    let spill = store.begin("Grep").unwrap();
    let text = spill.companion().unwrap();
    let (json, text) = (
        spill.commit(Format::Json).unwrap(),
        text.commit(Format::Text).unwrap(),
    );
    assert_eq!(json.id, text.id);
    assert_eq!(store.find(json.id.as_str()).unwrap().path, text.path);
}

#[test]
fn only_old_spills_go() {
    let (root, store) = scratch();
    let (old, new) = (save(&store, "old"), save(&store, "new"));
    age(
        &root,
        Path::new(&old.path).file_name().unwrap().to_str().unwrap(),
        8,
    );
    let dir = root.path().join("tool-output");
    for foreign in [
        "notes.txt",
        "tool_notes.txt",
        "tool_20200101_000000_short_Run.txt",
    ] {
        fs::write(dir.join(foreign), "").unwrap();
        age(&root, foreign, 100);
    }
    fs::create_dir(dir.join("tool_20200101_000000_00000000_Dir.txt")).unwrap();
    symlink(
        "/etc/passwd",
        dir.join("tool_20200101_000000_00000001_Link.txt"),
    )
    .unwrap();

    assert_eq!(store.prune_dry_run().unwrap().spills.len(), 1);
    assert!(root.path().join(&old.path).exists());
    let pruned = store.prune().unwrap();
    assert_eq!(
        pruned
            .spills
            .iter()
            .map(|entry| &entry.id)
            .collect::<Vec<_>>(),
        [&old.id]
    );
    assert!(root.path().join(&new.path).exists() && !root.path().join(&old.path).exists());
    assert_eq!(names(&root).len(), 7);
}

#[test]
fn cleaning_is_lazy_and_spares_what_was_just_written() {
    let (root, store) = scratch();
    let old = save(&store, "old");
    age(
        &root,
        Path::new(&old.path).file_name().unwrap().to_str().unwrap(),
        8,
    );
    save(&store, "second of this process: no cleaning");
    assert!(root.path().join(&old.path).exists());
    let next_process = Store::new(root.path(), Path::new("tool-output"), Retention::default());
    save(&next_process, "first of the next");
    assert!(!root.path().join(&old.path).exists());
}

#[test]
fn the_oldest_go_first_over_the_quota() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(
        root.path(),
        Path::new("tool-output"),
        Retention {
            days: 0,
            max_bytes: Some(10),
        },
    );
    let ids: Vec<SpillId> = ["aaaa", "bbbb", "cccc"]
        .iter()
        .map(|text| save(&store, text).id)
        .collect();
    let left: Vec<SpillId> = store
        .list()
        .unwrap()
        .into_iter()
        .map(|entry| entry.id)
        .collect();
    assert_eq!(left, [ids[2].clone(), ids[1].clone()]);

    let mut spill = store.begin("Run").unwrap();
    assert_eq!(
        spill.write(b"eleven bytes").unwrap_err().to_string(),
        "the output is larger than `max_store_bytes`"
    );
}

#[test]
fn what_a_dead_process_left_is_removed_and_a_living_one_is_not() {
    let (root, store) = scratch();
    save(&store, "");
    let dead = ".tool_20200101_000000_00000000_Run.tmp";
    fs::write(root.path().join("tool-output").join(dead), "half").unwrap();
    age(&root, dead, 1);
    let living = store.begin("Run").unwrap();
    age(&root, &living.temporary, 1);
    let pruned = store.prune().unwrap();
    assert_eq!((pruned.temporaries, pruned.bytes), (1, 4));
    assert!(names(&root).contains(&living.temporary) && !names(&root).contains(&dead.to_owned()));
}
