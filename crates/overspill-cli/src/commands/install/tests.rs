//! Whole texts in, whole texts out, for every dialect; and that taking the proxy away is the inverse of putting it there.

use super::*;
use crate::args::AgentName;
use proptest::prelude::*;

fn dialect(name: AgentName) -> &'static Dialect {
    &agents::named(name).dialect
}

fn wrap(text: &str, name: AgentName) -> String {
    wrapped(text, dialect(name), "overspill").unwrap()
}

fn unwrap(text: &str, name: AgentName) -> String {
    edited(text, &unwrapping(text, dialect(name)).unwrap())
}

/// Panics unless a text comes back, wrapping twice is wrapping once, and what is wrapped can be read.
#[track_caller]
fn round_trip(text: &str, name: AgentName) -> String {
    let there = wrap(text, name);
    assert_eq!(unwrap(&there, name), text, "wrapped: {there}");
    assert_eq!(wrap(&there, name), there);
    there
}

#[test]
fn a_started_server_keeps_its_arguments_where_they_are() {
    let cases = [
        (
            r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}}}}"#,
            r#"{"mcpServers": {"a": {"command": "overspill", "args": ["proxy", "--name", "a", "--", "npx", "-y", "x"], "env": {"K": "v"}}}}"#,
        ),
        (
            "{\"mcpServers\":{\"a\":{\"args\":[\n  \"x\"\n],\"command\":\"\\u006epx\"}}}",
            "{\"mcpServers\":{\"a\":{\"args\":[\n  \"proxy\",\n  \"--name\",\n  \"a\",\n  \"--\",\n  \"\\u006epx\",\n  \"x\"\n],\"command\":\"overspill\"}}}",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "s"}, "b": {"command": "s", "args": [ ]}}}"#,
            r#"{"mcpServers": {"a": {"command": "overspill", "args": ["proxy", "--name=a", "--", "s"]}, "b": {"command": "overspill", "args": ["proxy", "--name", "b", "--", "s" ]}}}"#,
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(round_trip(text, AgentName::Claude), expected);
    }
    let text =
        r#"{"mcp": {"a": {"type": "local", "command": ["npx", "x",], /* c */ "enabled": false}}}"#;
    assert_eq!(
        round_trip(text, AgentName::Opencode),
        r#"{"mcp": {"a": {"type": "local", "command": ["overspill", "proxy", "--name", "a", "--", "npx", "x",], /* c */ "enabled": false}}}"#
    );
}

#[test]
fn a_server_behind_an_address_is_rebuilt_where_its_layout_is_usual() {
    let text = r#"{
  "mcpServers": {
    "gh": {
      "type": "http",
      "url": "https://h/mcp",
      "headers": {
        "Authorization": "Bearer ${T}",
        "X": "1: 2"
      },
      "timeout": 1.50
    }
  }
}"#;
    let expected = r#"{
  "mcpServers": {
    "gh": {
      "type": "stdio",
      "command": "overspill",
      "args": ["proxy", "--name", "gh", "--url", "https://h/mcp", "--header", "Authorization: Bearer ${T}", "--header", "X: 1: 2"],
      "timeout": 1.50
    }
  }
}"#;
    assert_eq!(round_trip(text, AgentName::Claude), expected);
    let text = r#"{"mcp":{"r":{"type":"remote","url":"https://h"}}}"#;
    assert_eq!(
        round_trip(text, AgentName::Opencode),
        r#"{"mcp":{"r":{"type":"local","command":["overspill", "proxy", "--name", "r", "--url", "https://h"]}}}"#
    );
}

#[test]
fn a_server_of_unusual_layout_keeps_its_old_text() {
    let text = r#"{"mcpServers": {"g": {"headers": {}, "trust": true, "httpUrl": "http://h"}}}"#;
    assert_eq!(
        round_trip(text, AgentName::Gemini),
        r#"{"mcpServers": {"g": {"command": "overspill", "args": ["proxy", "--name", "g", "--url", "http://h"], "env": {"OVERSPILL_REPLACED": "{\"headers\": {}, \"trust\": true, \"httpUrl\": \"http://h\"}"}, "trust": true}}}"#
    );
}

#[test]
fn what_was_edited_since_stays() {
    let text = r#"{"mcpServers": {"g": {"headers": {"A": "b"}, "url": "http://h"}, "s": {"command": "x"}}}"#;
    let edited = wrap(text, AgentName::Claude)
        .replace("\"http://h\", \"--h", "\"http://new\", \"--h")
        .replace("\"A: b\"]", "\"A: b\"], \"timeout\": 5")
        .replace("\"x\"]", "\"x\", \"--more\"]");
    assert_eq!(
        unwrap(&edited, AgentName::Claude),
        r#"{"mcpServers": {"g": {"url": "http://new", "headers": {"A": "b"}, "timeout": 5}, "s": {"command": "x", "args": ["--more"]}}}"#
    );
}

#[test]
fn toml_is_edited_in_place() {
    let text = r#"# top
model = "m"

[mcp_servers.a]
command = 'npx' # why
args = [
  "-y", # yes
  "x",
]
[mcp_servers.a.env]
K = "v"

  [mcp_servers.b]
  command = "s"

[mcp_servers.gh]
url = "https://h" # there
startup_timeout_sec = 20.0
[mcp_servers.gh.http_headers]
Authorization = "Bearer x"

# between
"X-Y" = 'z'
[other]
a = 1"#;
    let expected = r##"# top
model = "m"

[mcp_servers.a]
command = "overspill" # why
args = [
  "proxy",
  "--name",
  "a",
  "--",
  'npx',
  "-y", # yes
  "x",
]
[mcp_servers.a.env]
K = "v"

  [mcp_servers.b]
  args = ["proxy", "--name=b", "--", "s"]
  command = "overspill"

[mcp_servers.gh]
command = "overspill"
args = ["proxy", "--name", "gh", "--url", "https://h", "--header", "Authorization: Bearer x", "--header", "X-Y: z"]
#overspill "gh"# url = "https://h" # there
startup_timeout_sec = 20.0
#overspill "gh"# [mcp_servers.gh.http_headers]
#overspill "gh"# Authorization = "Bearer x"

# between
#overspill "gh"# "X-Y" = 'z'
[other]
a = 1"##;
    assert_eq!(round_trip(text, AgentName::Codex), expected);
    round_trip(&text.replace('\n', "\r\n"), AgentName::Codex);
    // Without the comments the server is rebuilt.
    let bare: String = expected
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("#overspill"))
        .collect();
    let rebuilt = unwrap(&bare, AgentName::Codex);
    let there = "[mcp_servers.gh]\nurl = \"https://h\"\nhttp_headers = { \"Authorization\" = \"Bearer x\", \"X-Y\" = \"z\" }\nstartup";
    assert!(rebuilt.contains(there), "{rebuilt}");
}

#[test]
fn toml_has_many_ways_to_write_a_server() {
    let cases = [
        "[mcp_servers]\na = { command = \"x\" }\nb = { url = \"http://h\", enabled = true, http_headers = { A = \"b\" } } # c",
        "mcp_servers.a.command = \"x\"\nmcp_servers.a.args = []\nmcp_servers.b.url = \"http://h\"\nmcp_servers.b.http_headers.A = \"b\"\n",
        "mcp_servers = { a = { command = \"x\", args = [\"y\"] }, b = { command = \"z\" } }\n",
        "[mcp_servers.\"a b\".env]\nK = \"v\"\n[mcp_servers.\"a b\"]\ncommand = \"\"\"x\ny\"\"\"\n",
        "[mcp_servers.a]\nurl = \"http://h\"\nhttp_headers = { A = '''\nb''' }\nnote = '''\n#overspill \"b\"# x\n'''\n[mcp_servers.b]\nurl='http://i'",
        "[mcp_servers.a]\nurl = \"http://h\"\nhttp_headers = { A = \"\"\"\\\n  b\"\"\", B = \"c\" }",
    ];
    for text in cases {
        let there = round_trip(text, AgentName::Codex);
        assert_ne!(there, text);
    }
}

#[test]
fn what_the_proxy_cannot_stand_before_is_left_alone() {
    let cases = [
        (r#""x""#, "it is not an object"),
        ("{}", "it has neither a command nor an address"),
        (
            r#"{"command": "a", "command": "b"}"#,
            "it has the key `command` twice",
        ),
        (
            r#"{"command": "/opt/bin/overspill", "args": ["mcp"]}"#,
            "it is overspill itself",
        ),
        (
            r#"{"command": "a", "url": "http://h"}"#,
            "it has both a command and an address",
        ),
        (
            r#"{"command": "a", "args": [1]}"#,
            "`command` and `args` are not a string and a list of strings",
        ),
        (
            r#"{"type": "sse", "url": "http://h"}"#,
            "its type is `sse`, which the proxy does not speak",
        ),
        (r#"{"url": "ws://h"}"#, "its address is not http"),
        (
            r#"{"url": "http://h", "oauth": {}}"#,
            "`oauth` is something only the client can do; through the proxy it could not log in",
        ),
        (
            r#"{"url": "http://h", "headers": {"a": 1}}"#,
            "`headers` are not all strings",
        ),
        (
            r#"{"url": "http://h", "headers": {"a:b": "c"}}"#,
            "`a:b` is no HTTP header",
        ),
    ];
    let wish = Wish {
        way: Way::Wrap("overspill"),
        only: &[],
        except: &[],
    };
    for (server, why) in cases {
        let text = format!("{{\"mcpServers\": {{\"s\": {server}}}}}");
        let plan = plan(&text, dialect(AgentName::Claude), &wish).unwrap();
        assert_eq!(plan.left, [("s".to_owned(), why.to_owned())]);
        assert_eq!(plan.edits, []);
    }
}

/// What Gemini CLI 0.61.0 does with an address, by its own code: `httpUrl` and `"type": "http"` are streamable HTTP, `"type": "sse"`
/// is SSE, and of a `url` without a type it tries both.
#[test]
fn sse_is_left_alone_and_streamable_http_is_not() {
    let left = |name: AgentName, server: &str| {
        let table = dialect(name).servers[0][0];
        let text = format!("{{\"{table}\": {{\"s\": {server}}}}}");
        round_trip(&text, name);
        let wish = Wish {
            way: Way::Wrap("overspill"),
            only: &[],
            except: &[],
        };
        let mut left = plan(&text, dialect(name), &wish).unwrap().left;
        left.pop().map(|(_, why)| why)
    };
    let untold = "its `url` may be SSE, which the proxy does not speak; if it is streamable HTTP, add `\"type\": \"http\"`";
    let by_its_end = "its address ends in `/sse`: that is SSE, which the proxy does not speak";
    let typed = "its type is `sse`, which the proxy does not speak";
    let cases = [
        (AgentName::Gemini, r#"{"httpUrl": "http://h"}"#, None),
        (
            AgentName::Gemini,
            r#"{"httpUrl": "http://h", "timeout": 5}"#,
            None,
        ),
        (
            AgentName::Gemini,
            r#"{"type": "http", "url": "http://h"}"#,
            None,
        ),
        (
            AgentName::Gemini,
            r#"{"url": "http://h/sse", "type": "http"}"#,
            None,
        ),
        (AgentName::Gemini, r#"{"url": "http://h"}"#, Some(untold)),
        (
            AgentName::Gemini,
            r#"{"url": "http://h", "type": "sse"}"#,
            Some(typed),
        ),
        (
            AgentName::Cursor,
            r#"{"url": "http://h/v1/sse"}"#,
            Some(by_its_end),
        ),
        (
            AgentName::Cursor,
            r#"{"url": "http://h/sse/?a=/b"}"#,
            Some(by_its_end),
        ),
        (AgentName::Cursor, r#"{"url": "http://h/mcp?x=/sse"}"#, None),
        (
            AgentName::Claude,
            r#"{"type": "http", "url": "http://h/sse"}"#,
            None,
        ),
        (
            AgentName::Opencode,
            r#"{"type": "remote", "url": "http://h/sse"}"#,
            Some(by_its_end),
        ),
    ];
    for (name, server, expected) in cases {
        assert_eq!(left(name, server).as_deref(), expected, "{name:?} {server}");
    }
}

#[test]
fn a_program_of_another_name_is_known_by_its_words() {
    let line = |program: &str, name: &str| {
        let args = format!("[\"proxy\", \"--name\", \"{name}\", \"--\", \"x\", \"y\"]");
        format!("{{\"mcpServers\": {{\"a\": {{\"command\": \"{program}\", \"args\": {args}}}}}}}")
    };
    let bare = r#"{"mcpServers": {"a": {"command": "x", "args": ["y"]}}}"#;
    for program in ["overspill", "/opt/overspill-0.1", "C:\\\\overspill_2.exe"] {
        assert_eq!(unwrap(&line(program, "a"), AgentName::Claude), bare);
    }
    // Neither a program of some other name nor words of somebody's own are ours.
    for (program, name) in [("squid", "a"), ("overspill-0.1", "other")] {
        let text = line(program, name);
        assert_eq!(unwrap(&text, AgentName::Claude), text);
    }
    for text in [
        bare,
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"type": "http", "url": "http://h"}}}"#,
    ] {
        let there = wrapped(text, dialect(AgentName::Claude), "/opt/overspill-0.1").unwrap();
        assert_eq!(unwrap(&there, AgentName::Claude), text, "{there}");
    }
}

#[test]
fn a_text_that_cannot_be_read_names_the_place() {
    let trouble = |text, name| {
        let error = wrapped(text, dialect(name), "overspill").unwrap_err();
        error.to_string()
    };
    assert_eq!(
        trouble("{\n \"a\": ,}", AgentName::Claude),
        "line 2, column 7: expected a value"
    );
    assert_eq!(
        trouble("a = 1\nb = = 2\n", AgentName::Codex),
        "line 2, column 5: extra `=`, expected nothing"
    );
}

/// White space and comments, from a list of choices that is gone through again and again.
struct Gaps<'a> {
    choices: &'a [u8],
    next: usize,
}

impl Gaps<'_> {
    fn choice(&mut self) -> usize {
        self.next += 1;
        usize::from(self.choices[self.next % self.choices.len()])
    }

    fn gap(&mut self) -> &'static str {
        const GAPS: [&str; 9] = [
            "",
            "",
            " ",
            "\n  ",
            "\r\n\t",
            "  ",
            " /* a, } */ ",
            " // [\n",
            "\n\n",
        ];
        GAPS[self.choice() % GAPS.len()]
    }

    fn list(&mut self, brackets: [&str; 2], parts: &[String]) -> String {
        let mut out = brackets[0].to_owned();
        for (n, part) in parts.iter().enumerate() {
            let comma = match n + 1 < parts.len() || self.choice().is_multiple_of(4) {
                true => ",",
                false => "",
            };
            out += &format!("{}{part}{}{comma}", self.gap(), self.gap());
        }
        out + self.gap() + brackets[1]
    }

    fn pair(&mut self, key: &str, value: &str) -> String {
        let key = json::scan::quoted(key);
        format!("{key}{}:{}{value}", self.gap(), self.gap())
    }
}

#[derive(Clone, Debug)]
enum Kind {
    Start(String, Option<Vec<String>>),
    Reach(String, Option<Vec<(String, String)>>),
    Odd(String),
}

fn kind() -> impl Strategy<Value = Kind> {
    let word = "[a-z\"\\\\/ é\u{7f}-]{0,4}";
    prop_oneof![
        3 => (word, proptest::option::of(proptest::collection::vec(word, 0..4)))
            .prop_map(|(command, args)| Kind::Start(command, args)),
        3 => ("https?://[a-z]{1,3}", proptest::option::of(proptest::collection::vec(("[A-Za-z]{1,3}", word), 0..3)))
            .prop_map(|(url, headers)| Kind::Reach(url, headers)),
        1 => proptest::sample::select(vec!["1.50e+3", "null", "[ ]", "{\"url\": 1}"])
            .prop_map(|odd| Kind::Odd(odd.to_owned())),
    ]
}

fn server(kind: &Kind, name: AgentName, gaps: &mut Gaps<'_>) -> String {
    let dialect = dialect(name);
    let quote = |words: &[String]| -> Vec<String> {
        words.iter().map(|word| json::scan::quoted(word)).collect()
    };
    let mut members = Vec::new();
    let typed = gaps.choice() % 2;
    let types = dialect.types.unwrap_or(["http", "stdio"]);
    match kind {
        Kind::Odd(odd) => return odd.clone(),
        Kind::Start(command, args) => {
            members.extend((typed == 0).then(|| gaps.pair("type", &format!("{:?}", types[1]))));
            if name == AgentName::Opencode {
                let words = [vec![command.clone()], args.clone().unwrap_or_default()].concat();
                let list = gaps.list(["[", "]"], &quote(&words));
                members.push(gaps.pair("command", &list));
            } else {
                members.push(gaps.pair("command", &quote(std::slice::from_ref(command))[0]));
                if let Some(args) = args {
                    let list = gaps.list(["[", "]"], &quote(args));
                    members.push(gaps.pair("args", &list));
                }
            }
        }
        Kind::Reach(url, headers) => {
            members.extend((typed == 0).then(|| gaps.pair("type", &format!("{:?}", types[0]))));
            let key = dialect.url[gaps.choice() % dialect.url.len()];
            members.push(gaps.pair(key, &quote(std::slice::from_ref(url))[0]));
            if let Some(headers) = headers {
                let pairs = headers.iter();
                let pairs = pairs.map(|(key, value)| gaps.pair(key, &json::scan::quoted(value)));
                let pairs: Vec<String> = pairs.collect();
                let object = gaps.list(["{", "}"], &pairs);
                members.push(gaps.pair("headers", &object));
            }
        }
    }
    let extra = gaps.pair("timeout", "1e5");
    members.insert(gaps.choice() % (members.len() + 1), extra);
    let turn = gaps.choice() % members.len();
    members.rotate_left(turn);
    gaps.list(["{", "}"], &members)
}

fn document(kinds: &[(String, Kind)], name: AgentName, gaps: &mut Gaps<'_>) -> String {
    let servers = kinds.iter();
    let servers = servers.map(|(key, kind)| {
        let server = server(kind, name, gaps);
        gaps.pair(key, &server)
    });
    let servers: Vec<String> = servers.collect();
    let table = gaps.list(["{", "}"], &servers);
    let table = gaps.pair(dialect(name).servers[0][0], &table);
    let other = gaps.pair("other", "[0.10, {\"command\": \"x\"}]");
    let body = gaps.list(["{", "}"], &[other, table]);
    let mark = ["", BYTE_ORDER_MARK][gaps.choice() % 2];
    format!("{mark}{}{body}{}", gaps.gap(), gaps.gap())
}

/// Writes a server in one of the ways TOML has.
fn toml_server(name: &str, kind: &Kind, gaps: &mut Gaps<'_>) -> String {
    let quote = |word: &String| format!("'{word}'");
    let mut pairs = Vec::new();
    match kind {
        Kind::Odd(_) => pairs.push("enabled = false".to_owned()),
        Kind::Start(command, args) => {
            pairs.push(format!("command = {}", quote(command)));
            let args = args.iter().map(|args| {
                let args: Vec<String> = args.iter().map(quote).collect();
                format!("args=[ {} ]", args.join(" ,"))
            });
            pairs.extend(args);
        }
        Kind::Reach(url, headers) => {
            pairs.push(format!("url = {}", quote(url)));
            let headers = headers.iter().map(|headers| {
                let numbered = headers.iter().enumerate();
                let headers: Vec<String> = numbered
                    .map(|(n, (key, value))| format!("{key}{n} = {}", quote(value)))
                    .collect();
                format!("http_headers = {{{}}}", headers.join(", "))
            });
            pairs.extend(headers);
        }
    }
    pairs.push("timeout = 1_0.50".to_owned());
    let turn = gaps.choice() % pairs.len();
    pairs.rotate_left(turn);
    match gaps.choice() % 3 {
        0 => format!("{name} = {{{}}} # end\n", pairs.join(" , ")),
        1 => pairs
            .iter()
            .map(|pair| format!(" {name} . {pair} # c\n"))
            .collect(),
        _ => pairs
            .iter()
            .map(|pair| format!("{name}.{pair}\n\n"))
            .collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_comes_back(
        kinds in proptest::collection::vec(("[a-z.é\" ]{1,3}", kind()), 0..4),
        choices in proptest::collection::vec(any::<u8>(), 1..60),
        name in proptest::sample::select(vec![AgentName::Opencode, AgentName::Gemini, AgentName::Cursor]),
    ) {
        let mut gaps = Gaps { choices: &choices, next: 0 };
        let text = document(&kinds, name, &mut gaps);
        round_trip(&text, name);
    }

    #[test]
    fn any_toml_comes_back(
        kinds in proptest::collection::vec(kind(), 0..4),
        choices in proptest::collection::vec(any::<u8>(), 1..60),
    ) {
        let mut gaps = Gaps { choices: &choices, next: 0 };
        let mut text = "# top\n[mcp_servers]\n".to_owned();
        for (n, kind) in kinds.iter().enumerate() {
            text += &toml_server(&format!("s{n}"), kind, &mut gaps);
        }
        if choices[0].is_multiple_of(2) {
            text = text.replace('\n', "\r\n");
        }
        // What holds a control character is no TOML.
        if !text.contains('\u{7f}') {
            round_trip(&text, AgentName::Codex);
        }
    }
}
