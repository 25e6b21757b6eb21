//! Claude Code's PreToolUse: has a shell command run by `overspill run`, for the user who asks for it.
//!
//! It never says that the command is allowed: whether it may run is for the user's rules, which judge the wrapped text. What
//! would not do the same in a shell of its own is left as it is: [`shell`] tells.

use serde_json::{Value, json};

use super::json::Json;
use super::shell;
use crate::app::quoted;

/// Returns what Claude Code is told in answer to its input. `program` is how this one is called, with its flags.
pub(super) fn reply(mut input: Json<'_>, program: &str) -> Option<Value> {
    if !input["hook_event_name"].is("PreToolUse") || !input["tool_name"].is("Bash") {
        return None;
    }
    let mut given = input.take("tool_input");
    let command = given["command"].as_str()?;
    if given["run_in_background"].is_true() || !is_wrappable(command, program) {
        return None;
    }
    let wrapped = format!("{program} run -- bash -c {}", quoted(command));
    given.set("command", wrapped.into());
    Some(
        json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "updatedInput": Value::from(given) } }),
    )
}

fn is_wrappable(command: &str, program: &str) -> bool {
    let own = program.split(' ').next().unwrap_or(program);
    shell::is_movable(command, &|name| name == own || name == "overspill")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replied(input: &Value) -> Option<Value> {
        let mut text = input.to_string().into_bytes();
        reply(Json::parse(&mut text).unwrap(), "overspill --root /p")
    }

    fn wrapped(command: &str) -> Option<String> {
        let input = json!({
            "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": command, "timeout": 5, "description": "d" },
        });
        let reply = replied(&input)?;
        let output = &reply["hookSpecificOutput"];
        assert_eq!(
            output.as_object()?.keys().collect::<Vec<_>>(),
            ["hookEventName", "updatedInput"]
        );
        assert_eq!(
            output["updatedInput"]["timeout"], 5,
            "the whole input goes back"
        );
        output["updatedInput"]["command"]
            .as_str()
            .map(str::to_owned)
    }

    #[test]
    fn a_command_is_one_word_of_the_wrapped_one() {
        assert_eq!(
            wrapped("make").unwrap(),
            "overspill --root /p run -- bash -c make"
        );
        assert_eq!(
            wrapped("echo 'it''s' | grep \"$X\"\necho b").unwrap(),
            "overspill --root /p run -- bash -c 'echo '\\''it'\\'''\\''s'\\'' | grep \"$X\"\necho b'"
        );
    }

    #[test]
    fn what_needs_the_agents_own_shell_is_left_alone() {
        for command in ["cd src", "make && cd x", "make &", "", "overspill list"] {
            assert_eq!(wrapped(command), None, "{command}");
        }
        let plain = json!({ "command": "make" });
        let background = json!({ "command": "make", "run_in_background": true });
        for (event, tool, given) in [
            ("PostToolUse", "Bash", &plain),
            ("PreToolUse", "Read", &plain),
            ("PreToolUse", "Bash", &background),
        ] {
            let input = json!({ "hook_event_name": event, "tool_name": tool, "tool_input": given });
            assert_eq!(replied(&input), None);
        }
    }
}
