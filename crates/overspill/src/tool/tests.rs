use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::bound::bound;
use crate::journal::{Call, Ending, Journal, Text};
use crate::notice::Outcome;
use crate::settings::{FileSettings, Settings};
use crate::store::SpillId;

/// Does what its parameters say.
struct Probe;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProbeParams {
    /// What it does
    act: Act,
    /// Some text
    text: Option<String>,
    /// How often
    #[serde(default)]
    #[schemars(range(max = 100_000))]
    times: u32,
    /// A flag
    #[serde(default)]
    flag: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Act {
    /// Repeats the text.
    Repeat,
    /// Bounds itself.
    Bound,
    /// Pages.
    Page,
    Fail,
    Panic,
}

impl Tool for Probe {
    const NAME: &'static str = "Probe";
    const DESCRIPTION: &'static str = "Test.";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("content", "text")];
    type Params = ProbeParams;

    fn run(&self, cx: &Context<'_>, params: ProbeParams) -> Result<Answer, ToolError> {
        let text = params.text.unwrap_or_else(|| "line\n".to_owned());
        let text = text.repeat(params.times as usize);
        match params.act {
            Act::Repeat => Ok(Answer::of_output(text.as_bytes(), cx.lang())),
            Act::Bound => {
                let policy = cx.policy_with(&[("preset", "error")]).expect("a preset");
                let bounded = bound(&text, &policy, Outcome::Succeeded);
                Ok(Answer::of_bounded(&bounded, cx.lang()))
            }
            Act::Page => Ok(Answer::of_output(text.as_bytes(), cx.lang()).paged()),
            Act::Fail => Err(ToolError::new(Code::Conflict, "It changed.").hint("Look again.")),
            Act::Panic => panic!("oh no: {}", params.flag),
        }
    }
}

fn host(yaml: &str) -> (tempfile::TempDir, Host) {
    let root = tempfile::tempdir().unwrap();
    let file = FileSettings::parse("overspill.yaml", yaml).unwrap();
    let host = Host::new(root.path(), Settings::new().with_file(file));
    (root, host)
}

/// Calls the probe and returns its envelope as JSON, which is checked to be valid; the time is masked.
fn answer(yaml: &str, params: Value) -> Value {
    let (_root, host) = host(yaml);
    let envelope = call(&Probe, &host, params);
    assert_eq!(
        Envelope::parse(envelope.to_json().as_bytes()).as_ref(),
        Some(&envelope)
    );
    let mut json = serde_json::to_value(&envelope).unwrap();
    json["stats"]["time_ms"] = 0.into();
    json
}

fn failure(params: Value) -> (String, String, String) {
    let answer = answer("", params);
    assert_eq!(
        (&answer["status"], &answer["data"]),
        (&json!("error"), &json!({}))
    );
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let error = &answer["error"];
    (
        text(&error["code"]),
        text(&error["message"]),
        text(&answer["text"]),
    )
}

#[test]
fn a_complete_answer_is_described() {
    let params = json!({ "act": "repeat", "times": 2, "text": null });
    assert_eq!(
        answer("", params.clone()),
        json!({
            "status": "success",
            "data": { "content": "line\nline\n", "truncated": false },
            "text": "Complete output: 2 lines, 10 bytes.",
            "stats": { "time_ms": 0 },
            "context": { "cwd": ".", "params_input": params },
        })
    );
}

#[test]
fn parameters_are_refused_in_the_words_of_the_contract() {
    let cases = [
        (json!({}), "Missing required parameter 'act'."),
        (json!([1]), "The parameters must be a JSON object."),
        (
            json!({ "act": 1 }),
            "act must be one of fail, panic, repeat, bound, page.",
        ),
        (
            json!({ "act": "repeat", "text": 1 }),
            "text must be a string if provided.",
        ),
        (
            json!({ "act": "repeat", "flag": "yes" }),
            "flag must be a boolean if provided.",
        ),
        (
            json!({ "act": "repeat", "times": -1 }),
            "times must be an integer from 0 to 100000 if provided.",
        ),
        (
            json!({ "act": "repeat", "times": 1.5 }),
            "times must be an integer from 0 to 100000 if provided.",
        ),
        (
            json!({ "act": "repeat", "tims": 1 }),
            "Unknown parameter 'tims'; the nearest known one is 'times'.",
        ),
        (
            json!({ "act": "repeat", "text": "a", "content": "b" }),
            "'text' and 'content' are the same parameter; give one of them.",
        ),
    ];
    for (params, expected) in cases {
        let (code, message, _) = failure(params);
        assert_eq!(
            (code.as_str(), message.as_str()),
            ("INVALID_PARAM", expected)
        );
    }
    let (_, _, text) = failure(json!({ "act": "repeat", "x": 1 }));
    assert!(
        text.ends_with("\nParameters of Probe: act, text, times, flag."),
        "{text}"
    );
}

#[test]
fn an_alias_stands_for_its_parameter() {
    let answer = answer("", json!({ "act": "repeat", "content": "x", "times": 3 }));
    assert_eq!(answer["data"]["content"], "xxx");
}

#[test]
fn text_that_is_no_json_is_an_answer_too() {
    let (_root, host) = host("");
    let envelope = Probe.call_json(&host, "{'act'");
    let error = envelope.error.unwrap();
    assert_eq!(error.code, Code::InvalidParam);
    assert!(
        error
            .message
            .starts_with("The parameters are not JSON: key must be a string")
    );
}

#[test]
fn errors_and_panics_are_answers() {
    let (code, message, text) = failure(json!({ "act": "fail" }));
    assert_eq!(
        (&*code, &*message, &*text),
        ("CONFLICT", "It changed.", "It changed.\nLook again.")
    );
    let (code, message, _) = failure(json!({ "act": "panic", "flag": true }));
    assert_eq!(
        (&*code, &*message),
        (
            "INTERNAL_ERROR",
            "Probe failed by a fault of its own: oh no: true"
        )
    );
}

#[test]
fn an_answer_is_bounded_once() {
    let yaml = "tools:\n  Probe: {max_lines: 3}\n";
    let cut = answer(yaml, json!({ "act": "repeat", "times": 200 }));
    assert_eq!(
        (&cut["status"], &cut["data"]["preview"]),
        (&json!("partial"), &json!("line\nline\nline"))
    );
    // The tool's own choice holds over the settings, as an option of the call does.
    let own = answer(
        "tools:\n  Probe: {max_bytes: 10}\n",
        json!({ "act": "bound", "times": 200 }),
    );
    assert_eq!(own["data"]["truncation"]["kept_lines"], 100);
    let paged = answer(yaml, json!({ "act": "page", "times": 200 }));
    assert_eq!(
        (&paged["status"], &paged["context"]["truncation_skip"]),
        (&json!("success"), &json!(true))
    );
}

#[test]
fn long_parameters_are_not_repeated_at_length() {
    let long = "x".repeat(1_000_000);
    for params in [
        json!({ "act": "page", "text": long }),
        json!({ "act": long }),
        json!({ long: 1 }),
    ] {
        let answer = answer("", params).to_string();
        assert!(answer.len() < 10_000, "{}", answer.len());
    }
}

#[test]
fn the_schema_says_what_a_model_needs() {
    assert_eq!(
        Probe.schema(),
        json!({
            "type": "object",
            "properties": {
                "act": { "description": "What it does", "type": "string", "enum": ["fail", "panic", "repeat", "bound", "page"] },
                "text": { "description": "Some text", "type": "string" },
                "times": { "description": "How often", "type": "integer", "minimum": 0, "maximum": 100_000, "default": 0 },
                "flag": { "description": "A flag", "type": "boolean", "default": false },
            },
            "required": ["act"],
            "additionalProperties": false,
        })
    );
}

/// Says things that make no envelope.
struct Liar;

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "of some fields only the schema is looked at")]
struct LiarParams {
    how: String,
    /// A name or several
    names: Option<Names>,
    /// How much
    share: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Names {
    One(String),
    Many(Vec<String>),
}

impl Tool for Liar {
    const NAME: &'static str = "Liar";
    const DESCRIPTION: &'static str = "Test.";
    type Params = LiarParams;

    fn run(&self, _: &Context<'_>, params: LiarParams) -> Result<Answer, ToolError> {
        let answer = Answer::new(Map::new(), "said");
        Ok(match params.how.as_str() {
            "nothing" => Answer::new(Map::new(), ""),
            "failed and partial" => answer.failed(Code::Conflict, "no".to_owned()).partial(),
            "failed with data" => answer.failed(Code::Conflict, "no".to_owned()).data("x", 1),
            "no time" => answer.stat("time_ms", "soon"),
            "skip" => answer
                .data("x", "y\n".repeat(5000))
                .context("truncation_skip", true),
            "endless" => answer.data("x", "y".repeat(10 << 20)).paged(),
            _ => answer,
        })
    }
}

#[test]
fn whatever_a_tool_says_the_envelope_is_valid_and_bounded() {
    let (_root, host) = host("");
    let lies = [
        "nothing",
        "failed and partial",
        "failed with data",
        "no time",
        "skip",
        "endless",
        "",
    ];
    for how in lies {
        let envelope = call(&Liar, &host, json!({ "how": how }));
        let json = envelope.to_json();
        assert_eq!(Envelope::parse(json.as_bytes()), Some(envelope), "{how}");
        assert!(json.len() < 60_000, "{how}: {}", json.len());
    }
}

#[test]
fn a_schema_of_several_shapes_is_left_to_the_type() {
    let (_root, host) = host("");
    let good = [json!("a"), json!(["a", "b"])];
    for names in good {
        let envelope = call(
            &Liar,
            &host,
            json!({ "how": "", "names": names, "share": 0.5 }),
        );
        assert_eq!(envelope.status, Status::Success, "{envelope:?}");
    }
    let envelope = call(&Liar, &host, json!({ "how": "", "names": 1 }));
    assert_eq!(envelope.error.unwrap().code, Code::InvalidParam);
    let envelope = call(&Liar, &host, json!({ "how": "", "share": "half" }));
    assert_eq!(
        envelope.error.unwrap().message,
        "share must be a number if provided."
    );
}

#[test]
fn what_comes_to_no_tool_is_an_answer_too() {
    let (_root, host) = host("");
    let error = ToolError::new(Code::NotFound, "No tool 'X'.");
    let envelope = refuse(&host, "X", error, json!({ "a": 1 }));
    assert_eq!(
        (&envelope.status, &envelope.context["params_input"]),
        (&Status::Error, &json!({ "a": 1 }))
    );
}

/// Takes down what is logged.
struct Recorder(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Recorder {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        struct Fields(String);
        impl tracing::field::Visit for Fields {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if !["time_ms", "spill"].contains(&field.name()) {
                    self.0 += &format!("{}={value:?} ", field.name());
                }
            }
        }
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0.trim_end().to_owned());
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn every_call_is_logged_and_every_cut() {
    let log = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::with_default(Recorder(Arc::clone(&log)), || {
        answer("", json!({ "act": "repeat", "times": 2001 }));
        answer("", json!({ "act": "fail" }));
    });
    assert_eq!(
        *log.lock().unwrap(),
        [
            "message=cut tool=\"Probe\" strategy=\"head\" limit=\"max_lines\" lines_before=2001 lines_after=2005 bytes_before=10005 bytes_after=10240 saved_percent=0",
            "message=tool call tool=\"Probe\" status=\"partial\"",
            "message=tool call tool=\"Probe\" status=\"error\"",
        ]
    );
}

/// Takes down what a journal hears.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Journal for Heard {
    fn bounded(&self, call: Call<'_>) {
        let ending = match &call.ending {
            Ending::Whole => "whole".to_owned(),
            Ending::Paged => "paged".to_owned(),
            Ending::Cut {
                limit,
                spill,
                whole,
                ..
            } => {
                let text = match whole {
                    Text::Here(text) => text.len() as u64,
                    Text::Saved(file) => file.metadata().unwrap().len(),
                    Text::Gone => 0,
                };
                assert_eq!(text, call.before.bytes, "the text is that of the sizes");
                format!("cut by {}, saved: {}", limit.name(), spill.is_some())
            }
        };
        let (before, after) = (call.before.lines, call.after.lines);
        self.say(format!("{}: {before} -> {after}, {ending}", call.tool));
    }

    fn read_again(&self, _: &SpillId, by: &str) {
        self.say(format!("read again by {by}"));
    }
}

impl Heard {
    fn say(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

#[test]
fn a_call_is_noted_once() {
    let (_root, host) = host("tools:\n  Probe: {max_lines: 3}\n");
    let heard = Arc::new(Heard::default());
    let host = host.with_journal(Arc::<Heard>::clone(&heard));
    for params in [
        json!({ "act": "repeat", "times": 2 }),
        json!({ "act": "repeat", "times": 200 }),
        json!({ "act": "bound", "times": 20 }),
        json!({ "act": "bound", "times": 200 }),
        json!({ "act": "page", "times": 200 }),
        json!({ "act": "fail" }),
        json!({ "act": "panic" }),
    ] {
        call(&Probe, &host, params);
    }
    // What came to no tool is no call of one, and its name may be anything.
    let error = ToolError::new(Code::NotFound, "No tool 'x'.");
    refuse(&host, "x", error, json!({}));
    assert_eq!(
        *heard.0.lock().unwrap(),
        [
            "Probe: 2 -> 2, whole",
            "Probe: 200 -> 8, cut by max_lines, saved: true",
            "Probe: 20 -> 20, whole",
            "Probe: 200 -> 105, cut by max_lines, saved: true",
            "Probe: 200 -> 200, whole",
            "Probe: 2 -> 2, whole",
            "Probe: 2 -> 2, whole",
        ]
    );
}
