//! A small text of each language: what it defines, and what it refers to.

use super::super::language::{LANGUAGES, of_content, of_path};
use super::super::tags::{Tagger, Tags};

/// The definitions of a text as `kind name` with what they are in, and the names it refers to.
fn tags(path: &str, text: &str) -> (Vec<String>, Vec<String>) {
    let language = of_path(path.as_bytes()).unwrap();
    let language = of_content(language, path.as_bytes(), text.as_bytes());
    let tags: Tags = Tagger::new()
        .tags(language, text.as_bytes(), || false)
        .unwrap();
    let name = |number: u32| String::from_utf8(tags.names[number as usize].0.to_vec()).unwrap();
    let definitions = tags.definitions.iter().map(|definition| {
        let start = definition.start as usize;
        let signature = &text[start..start + usize::from(definition.bytes)];
        assert!(
            signature.contains(&name(definition.name)) || signature.starts_with("typedef"),
            "{signature}"
        );
        let outer = definition.within.checked_sub(1);
        let outer = outer.map(|outer| name(tags.definitions[outer as usize].name) + ".");
        format!(
            "{:?} {}{}",
            definition.kind,
            outer.unwrap_or_default(),
            name(definition.name)
        )
    });
    let references = tags.references.iter().map(|&(number, _)| name(number));
    (definitions.collect(), references.collect())
}

#[track_caller]
fn check(path: &str, text: &str, defines: &[&str], refers: &[&str], not: &[&str]) {
    let (definitions, references) = tags(path, text);
    assert_eq!(definitions, defines, "{path}");
    for name in refers {
        assert!(
            references.iter().any(|known| known == name),
            "{path}: {name} of {references:?}"
        );
    }
    for name in not {
        assert!(
            !references.iter().any(|known| known == name),
            "{path}: {name} of {references:?}"
        );
    }
}

#[test]
fn every_language_has_its_own_extensions() {
    let mut seen = std::collections::BTreeSet::new();
    for language in &LANGUAGES {
        // A rule for a node that the grammar does not have is a misspelling, but for grammars that share a list.
        assert!(!language.compiled().rules.is_empty());
        assert!(seen.insert(language.name), "{}", language.name);
    }
    assert_eq!(of_path(b"a/b.RS"), of_path(b"x.rs"));
    for path in [&b"Makefile"[..], b".rs", b"a.txt", b"", b"rs", b"a.rs/"] {
        assert_eq!(of_path(path), None);
    }
}

#[test]
fn rust() {
    check(
        "a.rs",
        r#"
use std::fs::File;
use crate::other::Helper;
#[derive(Debug)]
pub struct Store<'a> { dir: &'a str }
pub(crate) enum Mode { On, Off }
pub trait Keeps { fn keep(&self) -> Mode; }
impl<'a> Keeps for Store<'a> {
    fn keep(&self) -> Mode { let local = 1; File::open("x"); helper_function(local); Mode::On }
}
impl Store<'_> {
    pub const LIMIT: usize = 3;
    pub fn open(dir: &str) -> Result<Store<'_>, std::io::Error> { make_it!(Helper::new(dir)) }
}
macro_rules! make_it { ($x:expr) => { $x } }
static TABLE: &[u8] = &[];
type Alias = Vec<u8>;
mod tests { pub fn not_shown() {} }
mod inner { pub fn shown() {} }
"#,
        &[
            "Type Store",
            "Type Mode",
            "Type Keeps",
            "Function Keeps.keep",
            "Scope Store",
            "Function Store.keep",
            "Scope Store",
            "Value Store.LIMIT",
            "Function Store.open",
            "Macro make_it",
            "Value TABLE",
            "Type Alias",
            "Scope inner",
            "Function inner.shown",
        ],
        &[
            "Helper",
            "helper_function",
            "Mode",
            "Store",
            "make_it",
            "Keeps",
        ],
        &["File", "Debug", "Error", "not_shown"],
    );
}

#[test]
fn python() {
    check(
        "a.py",
        "import os\nLIMIT = 5\nself.x = 1\nclass Store(Base):\n    kind = 'x'\n    @property\n    def open(self, path: Path) -> int:\n        local = 1\n        return load_file(path)\n\nasync def main():\n    Store().open(LIMIT)\n",
        &[
            "Value LIMIT",
            "Type Store",
            "Value Store.kind",
            "Function Store.open",
            "Function main",
        ],
        &["Base", "Path", "load_file", "Store", "LIMIT"],
        &[],
    );
}

#[test]
fn javascript() {
    check(
        "a.mjs",
        "import { helper } from './b.js';\nexport const LIMIT = 5;\nexport const load = async (path) => { const local = 1; return helper(path); };\nfunction main() { new Store().open(LIMIT); }\nexport default class Store extends Base {\n  open(path) { return this.cache.lookUp(path); }\n}\nconst { a1, b1 } = require('x');\n",
        &[
            "Value LIMIT",
            "Value load",
            "Function main",
            "Type Store",
            "Function Store.open",
        ],
        &["helper", "Base", "lookUp", "LIMIT"],
        &["cache"],
    );
}

#[test]
fn typescript_and_tsx() {
    check(
        "a.ts",
        "export interface Options { depth: number; run(): void }\nexport type Mode = 'on' | Other;\nexport enum Kind { One }\nexport abstract class Walker<T> implements Options {\n  abstract walk(options: Options): Mode;\n  private step(): T { return next_one(this); }\n}\nnamespace Util { export function inner(): void {} }\ndeclare function outer(x: Kind): void;\n",
        &[
            "Type Options",
            "Function Options.run",
            "Type Mode",
            "Type Kind",
            "Type Walker",
            "Function Walker.walk",
            "Function Walker.step",
            "Scope Util",
            "Function Util.inner",
            "Function outer",
        ],
        &["Other", "Options", "next_one", "Kind"],
        &[],
    );
    check(
        "a.tsx",
        "export function Panel(props: Props) { return <Button onClick={handleClick}>x</Button>; }\n",
        &["Function Panel"],
        &["Props", "Button", "handleClick"],
        &[],
    );
}

#[test]
fn go() {
    check(
        "a.go",
        "package a\n\nimport \"fmt\"\n\nconst Limit = 5\n\ntype Store struct { dir string }\n\ntype Reader interface { Read(p []byte) int }\n\nfunc (s *Store) Open(path string) (*Entry, error) { local := 1; return loadFile(path, local) }\n\nfunc Main() { var inner int; fmt.Println(Limit, inner) }\n",
        &[
            "Value Limit",
            "Type Store",
            "Type Reader",
            "Function Reader.Read",
            "Function Open",
            "Function Main",
        ],
        &["Entry", "loadFile", "Store", "Limit"],
        &[],
    );
}

#[test]
fn java() {
    check(
        "A.java",
        "package a;\n@Entity\npublic class Store extends Base implements Keeps {\n  @Override\n  public Entry open(Path path) throws IOException { return loader.loadFile(path); }\n  enum Mode { ON }\n}\ninterface Keeps { void keep(); }\nrecord Point(int x) {}\n",
        &[
            "Type Store",
            "Function Store.open",
            "Type Store.Mode",
            "Type Keeps",
            "Function Keeps.keep",
            "Type Point",
        ],
        &["Base", "Keeps", "Entry", "Path", "loadFile"],
        &[],
    );
}

#[test]
fn c() {
    check(
        "a.c",
        "#include <stdio.h>\n#define LIMIT 5\n#define MAX_OF(a, b) \\\n  ((a) > (b) ? (a) : (b))\nstruct list_head { struct list_head *next; };\ntypedef struct { int size; } store_t;\ntypedef unsigned long word_t;\nenum mode { ON, OFF };\nstruct other *pointer;\nstatic inline int *find_entry(struct list_head *head, word_t key)\n{\n  return lookup(head, MAX_OF(key, LIMIT));\n}\nint main(void) { return call_me(pointer); }\n",
        &[
            "Value LIMIT",
            "Macro MAX_OF",
            "Type list_head",
            "Type store_t",
            "Type word_t",
            "Type mode",
            "Function find_entry",
            "Function main",
        ],
        &["lookup", "list_head", "MAX_OF", "call_me", "other"],
        &[],
    );
}

#[test]
fn cpp() {
    check(
        "a.hpp",
        "#pragma once\nnamespace store {\nclass Entry : public Base {\n public:\n  int size() const { return count_all(); }\n};\ntemplate <typename T> struct Box { T value; };\nusing Entries = std::vector<Entry>;\n}\nvoid store::Entry::clear(int depth) { reset_it(depth); }\n",
        &[
            "Scope store",
            "Type store.Entry",
            "Function Entry.size",
            "Type store.Box",
            "Type store.Entries",
            "Function clear",
        ],
        &["Base", "count_all", "reset_it", "Entry"],
        &[],
    );
    let header = "#pragma once\nclass Window {\n  void draw();\n};\n";
    let named = of_path(b"a.h").unwrap();
    assert_eq!(LANGUAGES[named].name, "C");
    assert_eq!(
        LANGUAGES[of_content(named, b"a.h", header.as_bytes())].name,
        "C++"
    );
    assert_eq!(
        of_content(named, b"a.h", b"struct a { int class; };\n"),
        named
    );
}

#[test]
fn c_sharp() {
    check(
        "A.cs",
        "using System;\nnamespace App {\n  public class Store : Base {\n    public int Size { get; set; }\n    [Obsolete]\n    public Entry Open(string path) { return Loader.LoadFile(path); }\n  }\n  public interface IKeeps { void Keep(); }\n  public record Point(int X);\n}\n",
        &[
            "Scope App",
            "Type App.Store",
            "Value Store.Size",
            "Function Store.Open",
            "Type App.IKeeps",
            "Function IKeeps.Keep",
            "Type App.Point",
        ],
        &["Base", "Entry", "LoadFile", "Loader"],
        &[],
    );
}

#[test]
fn ruby() {
    check(
        "a.rb",
        "module App\n  LIMIT = 5\n  class Store < Base\n    def open(path)\n      local = 1\n      load_file(path, LIMIT)\n    end\n    def self.create\n      new\n    end\n    def empty?\n      true\n    end\n  end\nend\n",
        &[
            "Type App",
            "Value App.LIMIT",
            "Type App.Store",
            "Function Store.open",
            "Function Store.create",
            "Function Store.empty?",
        ],
        &["Base", "load_file", "LIMIT"],
        &[],
    );
}

#[test]
fn php() {
    check(
        "a.php",
        "<?php\nnamespace App;\nconst LIMIT = 5;\ninterface Keeps { public function keep(): void; }\nclass Store extends Base implements Keeps {\n  public function open(string $path): Entry { return load_file($path, LIMIT); }\n}\ntrait Walks {}\nfunction main_entry() { return new Store(); }\n",
        &[
            "Value LIMIT",
            "Type Keeps",
            "Function Keeps.keep",
            "Type Store",
            "Function Store.open",
            "Type Walks",
            "Function main_entry",
        ],
        &["Base", "Keeps", "Entry", "load_file", "Store"],
        &[],
    );
}

#[test]
fn kotlin() {
    check(
        "A.kt",
        "package a\n\nconst val LIMIT = 5\ntypealias Names = List<String>\ninterface Keeps {\n    fun keep()\n}\nclass Store(val dir: String) : Base(), Keeps {\n    fun open(path: Path): Entry { val local = 1; return loadFile(path, LIMIT) }\n}\nobject Single {\n    fun run() = Store(\"x\")\n}\n",
        &[
            "Value LIMIT",
            "Type Names",
            "Type Keeps",
            "Function Keeps.keep",
            "Type Store",
            "Function Store.open",
            "Type Single",
            "Function Single.run",
        ],
        &["Base", "Path", "Entry", "loadFile", "LIMIT", "Store"],
        &[],
    );
}

#[test]
fn swift() {
    check(
        "A.swift",
        "import Foundation\nlet limit = 5\nprotocol Keeps { func keep() }\nclass Store: Base, Keeps {\n    func open(path: Path) -> Entry { let local = 1; return loadFile(path, limit) }\n}\nstruct Point { var xValue: Int }\ntypealias Names = [String]\n",
        &[
            "Value limit",
            "Type Keeps",
            "Function Keeps.keep",
            "Type Store",
            "Function Store.open",
            "Type Point",
            "Value Point.xValue",
            "Type Names",
        ],
        &["Base", "Path", "Entry", "loadFile"],
        &[],
    );
}

#[test]
fn bash() {
    check(
        "a.sh",
        "#!/bin/sh\nset -e\nbuild_all() {\n  run_step one\n}\nfunction clean-up { rm -rf x; }\nbuild_all && clean-up\n",
        &["Function build_all", "Function clean-up"],
        &["run_step", "build_all", "clean-up", "set"],
        &["one"],
    );
}

#[test]
fn whatever_the_text_it_is_done_with_soon() {
    let patterns = [
        "(", "{", "[", "<", "a<", "\"", "'", "/*", "if ", "#if\n", "x.y(", "a b ", "=>", "$(",
        "<?php ", "f(a,", "::a", "1+", "@x ", "\\",
    ];
    for (language, known) in (0..).zip(&LANGUAGES) {
        for pattern in patterns {
            let text = pattern.repeat(5_000 / pattern.len());
            let start = std::time::Instant::now();
            let _ = Tagger::new().tags(language, text.as_bytes(), || false);
            let took = start.elapsed();
            assert!(took.as_secs() < 30, "{} {pattern:?}: {took:?}", known.name);
        }
    }
}
