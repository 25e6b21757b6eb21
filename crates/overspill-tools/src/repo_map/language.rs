//! The one table of languages: what files they are in, their grammar, and which nodes of it define and refer.
//!
//! A node is looked up by the number of its kind, in a table that is made of these words once a language is met. That is
//! several times as fast as a query, and on a large code base nearly all of the time goes into syntax trees.

use std::sync::OnceLock;

use memchr::memmem;

/// What a definition defines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// A type, a class, a trait.
    Type,
    /// A function or a method.
    Function,
    /// A macro that takes arguments.
    Macro,
    /// A constant, or a variable of the whole file.
    Value,
    /// What holds definitions and is none itself, such as `impl`. It is shown above what it holds.
    Scope,
}

impl Kind {
    /// Every kind, in the order of their numbers in the cache.
    pub(super) const ALL: [Kind; 5] = [
        Kind::Type,
        Kind::Function,
        Kind::Macro,
        Kind::Value,
        Kind::Scope,
    ];
}

/// What a definition says of who may use it, as it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Visibility {
    /// It says that others may: `pub`.
    Open,
    /// It says that its surroundings may: `pub(super)`.
    Near,
    /// It says nothing.
    Unsaid,
    /// It says that others may not: `private`, `static`; or it is how a trait is implemented, which is called by the trait.
    Closed,
}

impl Visibility {
    /// Every one, in the order of their numbers in the cache.
    pub(super) const ALL: [Visibility; 4] = [
        Visibility::Open,
        Visibility::Near,
        Visibility::Unsaid,
        Visibility::Closed,
    ];
}

/// Where names are looked for: in C a `struct list` is not the function `list`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub(super) enum Space {
    Any,
    Type,
}

/// Languages whose names mean each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(super) enum Family {
    Rust,
    Python,
    Script,
    Go,
    Jvm,
    C,
    CSharp,
    Ruby,
    Php,
    Swift,
    Shell,
}

/// Where a definition has its name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Naming {
    /// In a field, or in the first identifier below it.
    Field(&'static str),
    /// In a field, which must be an identifier: `a.b = 1` and `{ a, b } = c` name nothing.
    Exactly(&'static str),
    /// At the end of a chain of declarators, as in C.
    Declarator,
    /// In the first identifier below it.
    First,
}

/// A node that defines something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) node: &'static str,
    pub(super) kind: Kind,
    pub(super) naming: Naming,
    /// Whether it counts only with a body: `struct page *page` defines nothing.
    pub(super) needs_body: bool,
}

/// A language.
pub(super) struct Language {
    pub(super) name: &'static str,
    pub(super) family: Family,
    extensions: &'static [&'static str],
    grammar: fn() -> tree_sitter::Language,
    rules: &'static [Rule],
    /// Nodes that are the name of something.
    identifiers: &'static [&'static str],
    /// Nodes that a signature ends before, where the grammar has no field `body`.
    bodies: &'static [&'static str],
    compiled: OnceLock<Compiled>,
}

/// What a node is to us.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    None,
    Identifier,
    /// It is an identifier that may be a variable as well.
    Variable,
    Body,
    /// It is a function without a name.
    Closure,
    /// Nothing in it counts.
    Skipped,
    /// It brings names in from elsewhere.
    Import,
    /// It is a name with a path before it.
    Path,
    /// It defines something, by the rule of this number.
    Definition(u8),
}

/// A language by the numbers of its grammar.
pub(super) struct Compiled {
    pub(super) grammar: tree_sitter::Language,
    pub(super) rules: &'static [Rule],
    pub(super) family: Family,
    roles: Vec<Role>,
}

impl Compiled {
    pub(super) fn role(&self, kind: u16) -> Role {
        self.roles
            .get(usize::from(kind))
            .copied()
            .unwrap_or(Role::None)
    }
}

impl Language {
    /// Returns everything that decides about tags, as text: tags of another text are no use.
    pub(super) fn fingerprint(&self) -> String {
        let Language { name, rules, .. } = self;
        format!("{name}{rules:?}{:?}{:?}", self.identifiers, self.bodies)
    }

    pub(super) fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let grammar = (self.grammar)();
            let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            let role = |kind: u16| match grammar.node_kind_for_id(kind) {
                Some(name) if grammar.node_kind_is_named(kind) => self.role(name),
                _ => Role::None,
            };
            Compiled {
                roles: (0..count).map(role).collect(),
                rules: self.rules,
                family: self.family,
                grammar,
            }
        })
    }

    fn role(&self, node: &str) -> Role {
        if let Some(at) = self.rules.iter().position(|rule| rule.node == node) {
            return Role::Definition(at as u8);
        }
        if self.identifiers.contains(&node) {
            // Ruby calls without brackets.
            let may_be_variable = VARIABLES.contains(&node) && self.family != Family::Ruby;
            return match may_be_variable {
                true => Role::Variable,
                false => Role::Identifier,
            };
        }
        match node {
            node if self.bodies.contains(&node) => Role::Body,
            node if CLOSURES.contains(&node) => Role::Closure,
            "attribute_item" | "inner_attribute_item" => Role::Skipped,
            "use_declaration" if self.family == Family::Rust => Role::Import,
            "scoped_identifier" | "scoped_type_identifier" if self.family == Family::Rust => {
                Role::Path
            }
            _ => Role::None,
        }
    }
}

/// Identifiers that may be variables, in any grammar.
const VARIABLES: &[&str] = &["identifier", "simple_identifier"];

/// Functions without a name, in any grammar: what is defined in them is nobody else's.
const CLOSURES: &[&str] = &[
    "arrow_function",
    "function_expression",
    "func_literal",
    "lambda_literal",
    "lambda_expression",
    "do_block",
    "block_argument",
];

const fn rule(node: &'static str, kind: Kind) -> Rule {
    Rule {
        node,
        kind,
        naming: Naming::Field("name"),
        needs_body: false,
    }
}

const fn typed(node: &'static str) -> Rule {
    rule(node, Kind::Type)
}

const fn function(node: &'static str) -> Rule {
    rule(node, Kind::Function)
}

const fn named_by(rule: Rule, naming: Naming) -> Rule {
    Rule { naming, ..rule }
}

const fn with_body(rule: Rule) -> Rule {
    Rule {
        needs_body: true,
        ..rule
    }
}

const LEFT: Naming = Naming::Exactly("left");

const SCRIPT_RULES: &[Rule] = &[
    function("function_declaration"),
    function("generator_function_declaration"),
    function("function_signature"),
    function("method_definition"),
    function("method_signature"),
    function("abstract_method_signature"),
    typed("class_declaration"),
    typed("abstract_class_declaration"),
    typed("interface_declaration"),
    typed("type_alias_declaration"),
    typed("enum_declaration"),
    rule("internal_module", Kind::Scope),
    named_by(
        rule("variable_declarator", Kind::Value),
        Naming::Exactly("name"),
    ),
];

const SCRIPT_IDENTIFIERS: &[&str] = &[
    "identifier",
    "type_identifier",
    "property_identifier",
    "shorthand_property_identifier",
];

const C_RULES: &[Rule] = &[
    named_by(function("function_definition"), Naming::Declarator),
    with_body(typed("struct_specifier")),
    with_body(typed("union_specifier")),
    with_body(typed("enum_specifier")),
    named_by(typed("type_definition"), Naming::Declarator),
    rule("preproc_function_def", Kind::Macro),
    rule("preproc_def", Kind::Value),
];

const CPP_RULES: &[Rule] = &[
    named_by(function("function_definition"), Naming::Declarator),
    with_body(typed("struct_specifier")),
    with_body(typed("union_specifier")),
    with_body(typed("enum_specifier")),
    with_body(typed("class_specifier")),
    named_by(typed("type_definition"), Naming::Declarator),
    typed("alias_declaration"),
    typed("concept_definition"),
    rule("namespace_definition", Kind::Scope),
    rule("preproc_function_def", Kind::Macro),
    rule("preproc_def", Kind::Value),
];

const C_IDENTIFIERS: &[&str] = &["identifier", "type_identifier"];

/// The table has a row a language; most are a list of rules.
macro_rules! languages {
    ($($name:literal, $family:ident, $extensions:expr, $grammar:expr, $rules:expr, $identifiers:expr, $bodies:expr;)*) => {
        [$(Language {
            name: $name,
            family: Family::$family,
            extensions: &$extensions,
            grammar: || $grammar.into(),
            rules: $rules,
            identifiers: $identifiers,
            bodies: &$bodies,
            compiled: OnceLock::new(),
        }),*]
    };
}

/// Every language. Its place in the list is its number in the cache.
pub(super) static LANGUAGES: [Language; 15] = languages! {
    "Rust", Rust, ["rs"], tree_sitter_rust::LANGUAGE, &[
        function("function_item"),
        function("function_signature_item"),
        typed("struct_item"),
        typed("enum_item"),
        typed("union_item"),
        typed("trait_item"),
        typed("type_item"),
        rule("const_item", Kind::Value),
        rule("static_item", Kind::Value),
        rule("macro_definition", Kind::Macro),
        named_by(rule("impl_item", Kind::Scope), Naming::Field("type")),
        with_body(rule("mod_item", Kind::Scope)),
    ], &["identifier", "type_identifier", "field_identifier"], [];
    "Python", Python, ["py", "pyi"], tree_sitter_python::LANGUAGE, &[
        typed("class_definition"),
        function("function_definition"),
        named_by(rule("assignment", Kind::Value), LEFT),
    ], &["identifier"], [];
    "JavaScript", Script, ["js", "jsx", "mjs", "cjs"], tree_sitter_javascript::LANGUAGE,
        SCRIPT_RULES, SCRIPT_IDENTIFIERS, [];
    "TypeScript", Script, ["ts", "mts", "cts"], tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        SCRIPT_RULES, SCRIPT_IDENTIFIERS, [];
    "TSX", Script, ["tsx"], tree_sitter_typescript::LANGUAGE_TSX, SCRIPT_RULES, SCRIPT_IDENTIFIERS, [];
    "Go", Go, ["go"], tree_sitter_go::LANGUAGE, &[
        function("function_declaration"),
        function("method_declaration"),
        function("method_elem"),
        typed("type_spec"),
        typed("type_alias"),
        rule("const_spec", Kind::Value),
        rule("var_spec", Kind::Value),
    ], &["identifier", "type_identifier", "field_identifier"], [];
    "Java", Jvm, ["java"], tree_sitter_java::LANGUAGE, &[
        typed("class_declaration"),
        typed("interface_declaration"),
        typed("enum_declaration"),
        typed("record_declaration"),
        typed("annotation_type_declaration"),
        function("method_declaration"),
    ], &["identifier", "type_identifier"], [];
    "C", C, ["c", "h"], tree_sitter_c::LANGUAGE, C_RULES, C_IDENTIFIERS, [];
    "C++", C, ["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl"], tree_sitter_cpp::LANGUAGE,
        CPP_RULES, &["identifier", "type_identifier", "field_identifier", "namespace_identifier"], [];
    "C#", CSharp, ["cs"], tree_sitter_c_sharp::LANGUAGE, &[
        typed("class_declaration"),
        typed("interface_declaration"),
        typed("struct_declaration"),
        typed("enum_declaration"),
        typed("record_declaration"),
        typed("delegate_declaration"),
        function("method_declaration"),
        rule("property_declaration", Kind::Value),
        rule("namespace_declaration", Kind::Scope),
    ], &["identifier"], ["accessor_list"];
    "Ruby", Ruby, ["rb", "rake"], tree_sitter_ruby::LANGUAGE, &[
        typed("class"),
        typed("module"),
        function("method"),
        function("singleton_method"),
        named_by(rule("assignment", Kind::Value), LEFT),
    ], &["identifier", "constant"], [];
    "PHP", Php, ["php"], tree_sitter_php::LANGUAGE_PHP, &[
        typed("class_declaration"),
        typed("interface_declaration"),
        typed("trait_declaration"),
        typed("enum_declaration"),
        function("function_definition"),
        function("method_declaration"),
        named_by(rule("const_element", Kind::Value), Naming::First),
    ], &["name"], [];
    "Kotlin", Jvm, ["kt", "kts"], tree_sitter_kotlin_ng::LANGUAGE, &[
        typed("class_declaration"),
        typed("object_declaration"),
        function("function_declaration"),
        named_by(typed("type_alias"), Naming::Field("type")),
        named_by(rule("property_declaration", Kind::Value), Naming::First),
    ], &["identifier"], ["class_body", "enum_class_body", "function_body"];
    "Swift", Swift, ["swift"], tree_sitter_swift::LANGUAGE, &[
        typed("class_declaration"),
        typed("protocol_declaration"),
        function("function_declaration"),
        function("protocol_function_declaration"),
        typed("typealias_declaration"),
        named_by(rule("property_declaration", Kind::Value), Naming::First),
    ], &["simple_identifier", "type_identifier"], [];
    "Bash", Shell, ["sh", "bash"], tree_sitter_bash::LANGUAGE, &[
        function("function_definition"),
    ], &["command_name"], [];
};

/// What tells a header of C++ from one of C.
const CPP_SIGNS: [&str; 4] = [
    "\nclass ",
    "\nnamespace ",
    "\ntemplate",
    "\n#include <string>",
];

/// Returns the number of the language of a path, as far as its name tells.
pub(super) fn of_path(path: &[u8]) -> Option<usize> {
    let name = path.rsplit(|&byte| byte == b'/').next()?;
    let dot = memchr::memrchr(b'.', name).filter(|dot| *dot > 0)?;
    let extension = std::str::from_utf8(&name[dot + 1..]).ok()?;
    LANGUAGES.iter().position(|language| {
        let mut known = language.extensions.iter();
        known.any(|known| known.eq_ignore_ascii_case(extension))
    })
}

/// Returns the number of the language of a file, `named` by its path: a header of C may turn out to be one of C++.
pub(super) fn of_content(named: usize, path: &[u8], content: &[u8]) -> usize {
    let has = |sign: &&str| memmem::find(content, sign.as_bytes()).is_some();
    if path.ends_with(b".h") && CPP_SIGNS.iter().any(has) {
        let cpp = LANGUAGES.iter().position(|language| language.name == "C++");
        return cpp.unwrap_or(named);
    }
    named
}

/// Returns what the start of a definition says of who may use it.
pub(super) fn visibility(family: Family, signature: &[u8]) -> Visibility {
    let mut words = signature
        .split(|byte| !super::tags::is_word_byte(*byte))
        .filter(|word| !word.is_empty())
        .take(6);
    let closing: &[&[u8]] = match family {
        Family::Rust if signature.starts_with(b"pub(super)") => return Visibility::Near,
        Family::Rust if signature.starts_with(b"pub") => return Visibility::Open,
        Family::C => &[b"static"],
        Family::Jvm | Family::CSharp | Family::Swift | Family::Php => &[b"private", b"fileprivate"],
        Family::Script => &[b"private"],
        _ => &[],
    };
    match words.any(|word| closing.contains(&word)) {
        true => Visibility::Closed,
        false => Visibility::Unsaid,
    }
}

/// Who may use a definition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reach<'p> {
    /// Any file.
    Anywhere,
    /// Files below this directory.
    Below(&'p [u8]),
    /// Only its own.
    Nowhere,
}

/// Returns who may use a definition of a file.
pub(super) fn reach<'p>(
    family: Family,
    path: &'p [u8],
    name: &[u8],
    kind: Kind,
    visibility: Visibility,
) -> Reach<'p> {
    let dir = memchr::memrchr(b'/', path).map_or(&path[..0], |slash| &path[..slash]);
    let file = &path[dir.len()..];
    let file = file.strip_prefix(b"/").unwrap_or(file);
    let is_header = |file: &[u8]| {
        let extension = memchr::memrchr(b'.', file).map_or(&file[..0], |dot| &file[dot + 1..]);
        extension.starts_with(b"h") || [&b"ipp"[..], b"inl"].contains(&extension)
    };
    match (family, visibility) {
        (Family::C, _) if is_header(file) => Reach::Anywhere,
        (Family::C, Visibility::Unsaid) if kind == Kind::Function => Reach::Anywhere,
        (Family::C, _) | (_, Visibility::Closed) => Reach::Nowhere,
        // A macro is in scope by the order of the text, or exported.
        (Family::Rust, Visibility::Unsaid | Visibility::Near) if kind != Kind::Macro => {
            let is_root = [&b"mod.rs"[..], b"lib.rs", b"main.rs"].contains(&file);
            let own = match is_root {
                true => dir,
                false => path.strip_suffix(b".rs").unwrap_or(path),
            };
            let above = memchr::memrchr(b'/', own).map_or(&own[..0], |slash| &own[..slash]);
            Reach::Below(match visibility {
                Visibility::Near => above,
                _ => own,
            })
        }
        (Family::Go, _) if !name.first().is_some_and(u8::is_ascii_uppercase) => Reach::Below(dir),
        _ => Reach::Anywhere,
    }
}
