//! Lays out JSON text over lines without reading its values, so that numbers and repeated keys stay as they came.

const INDENT: &str = "  ";

/// Returns `json`, which must be valid, pretty-printed.
pub(crate) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 4);
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(close) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    break_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out.push('\n');
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(INDENT, depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_changes_and_values_do_not() {
        let json =
            r#"{"a" : [1e400,{}, [] ,"x, {\"y\": \\"],"b":{"n":12345678901234567890.50,"n":2}}"#;
        let expected = "{\n  \"a\": [\n    1e400,\n    {},\n    [],\n    \"x, {\\\"y\\\": \\\\\"\n  ],\n  \"b\": {\n    \"n\": 12345678901234567890.50,\n    \"n\": 2\n  }\n}\n";
        assert_eq!(pretty(json), expected);
        assert_eq!(pretty(expected), expected);
    }
}
