//! Reads the parameters of a call: checked against the schema first, so that what is wrong is said in the words of the
//! contract and not in those of a parser.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::{Tool, ToolError};
use crate::envelope::Code;
use crate::notice::{Lang, Message};

/// Returns the JSON Schema of parameters, without what a model has no use for.
pub(super) fn schema<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<P>()
        .to_value();
    if let Some(root) = schema.as_object_mut() {
        root.remove("title");
        root.remove("description");
        root.entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
        root.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        *property = plain(property.take());
    }
    schema
}

/// Returns the schema of a property without `null`, which stands for an absent one, and without formats.
fn plain(property: Value) -> Value {
    let Value::Object(mut property) = property else {
        return property;
    };
    property.remove("format");
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
    let is_null = |variant: &Value| variant.get("type").is_some_and(|kind| kind == "null");
    if let Some(Value::Array(variants)) = property.get("anyOf") {
        let own: Vec<&Value> = variants
            .iter()
            .filter(|variant| !is_null(variant))
            .collect();
        if let [Value::Object(only)] = own[..] {
            let only = only.clone();
            let description = property.remove("description");
            property.remove("anyOf");
            property.extend(only);
            property.extend(description.map(|text| ("description".to_owned(), text)));
        }
    }
    if let Some(Value::Array(variants)) = property.get("oneOf") {
        let names: Option<Vec<Vec<Value>>> = variants.iter().map(names).collect();
        if let Some(names) = names {
            property.remove("oneOf");
            property.insert("enum".to_owned(), names.concat().into());
            property.insert("type".to_owned(), "string".into());
        }
    }
    Value::Object(property)
}

/// Returns the names in a part of an enum: one with a description each, or those without together. Nothing for what is more
/// than a name.
fn names(variant: &Value) -> Option<Vec<Value>> {
    match (variant.get("const"), variant.get("enum")) {
        (Some(name), _) => Some(vec![name.clone()]),
        (None, Some(Value::Array(names))) => Some(names.clone()),
        _ => None,
    }
}

/// Reads the parameters of a tool.
pub(super) fn read<T: Tool>(
    given: Result<&Value, &String>,
    lang: Lang,
) -> Result<T::Params, ToolError> {
    let schema = schema::<T::Params>();
    let known = schema.get("properties").and_then(Value::as_object);
    let known = known.cloned().unwrap_or_default();
    let checker = Checker {
        known: &known,
        tool: T::NAME,
        lang,
    };
    let given = match given {
        Ok(Value::Object(given)) => given,
        Ok(_) => {
            let message = Message::NotAnObject.say(lang, &[]);
            return Err(refused(message).hint(checker.parameters()));
        }
        Err(cause) => {
            let cause = &cause[..cause.floor_char_boundary(200)];
            let message = Message::NotJson.say(lang, &[("cause", cause)]);
            return Err(refused(message).hint(checker.parameters()));
        }
    };
    let given = with_names::<T>(given, lang)?;
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    checker.check(&given, &required)?;
    serde_json::from_value(Value::Object(given)).map_err(|error| {
        let cause = error.to_string();
        refused(cause[..cause.floor_char_boundary(200)].to_owned())
    })
}

fn refused(message: String) -> ToolError {
    ToolError::new(Code::InvalidParam, message)
}

/// Returns the parameters by their proper names, without those that are null: a model's way to leave one out.
fn with_names<T: Tool>(
    given: &Map<String, Value>,
    lang: Lang,
) -> Result<Map<String, Value>, ToolError> {
    let mut named = Map::new();
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        let alias = T::ALIASES.iter().find(|(alias, _)| alias == name);
        let proper = alias.map_or(name.as_str(), |(_, proper)| proper);
        if named.insert(proper.to_owned(), value.clone()).is_some() {
            let other = T::ALIASES.iter().find(|(_, known)| *known == proper);
            let other = other.map_or("", |(alias, _)| alias);
            let values = [("name", proper), ("other", other)];
            return Err(refused(Message::SameParam.say(lang, &values)));
        }
    }
    Ok(named)
}

struct Checker<'s> {
    known: &'s Map<String, Value>,
    tool: &'static str,
    lang: Lang,
}

impl Checker<'_> {
    fn check(&self, given: &Map<String, Value>, required: &[&str]) -> Result<(), ToolError> {
        if let Some(unknown) = given.keys().find(|name| !self.known.contains_key(*name)) {
            return Err(self.unknown(unknown));
        }
        if let Some(name) = required.iter().find(|name| !given.contains_key(**name)) {
            let message = Message::MissingParam.say(self.lang, &[("name", name)]);
            return Err(refused(message).hint(self.parameters()));
        }
        for (name, value) in given {
            let property = &self.known[name];
            if !is_valid(property, value) {
                let message = if required.contains(&name.as_str()) {
                    Message::BadParam
                } else {
                    Message::BadOptionalParam
                };
                let expected = self.expected(property);
                let values = [("name", name.as_str()), ("expected", expected.as_str())];
                return Err(refused(message.say(self.lang, &values)).hint(self.parameters()));
            }
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> ToolError {
        let shown = &name[..name.floor_char_boundary(200)];
        let near = self
            .known
            .keys()
            .map(|known| (strsim::damerau_levenshtein(known, shown), known))
            .min_by_key(|(distance, _)| *distance);
        let message = match near {
            Some((_, near)) => {
                let values = [("name", shown), ("near", near.as_str())];
                Message::UnknownParamNear.say(self.lang, &values)
            }
            None => Message::UnknownParam.say(self.lang, &[("name", shown)]),
        };
        refused(message).hint(self.parameters())
    }

    /// Lists the parameters there are.
    fn parameters(&self) -> String {
        let names: Vec<&str> = self.known.keys().map(String::as_str).collect();
        let names = names.join(", ");
        Message::KnownParams.say(self.lang, &[("tool", self.tool), ("names", &names)])
    }

    /// Says what values a parameter takes.
    fn expected(&self, property: &Value) -> String {
        if let Some(Value::Array(names)) = property.get("enum") {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            return Message::OneOf.say(self.lang, &[("names", &names.join(", "))]);
        }
        let bound = |key: &str| property.get(key).and_then(Value::as_i64);
        let message = match property.get("type").and_then(Value::as_str) {
            Some("string") => Message::AString,
            Some("boolean") => Message::ABoolean,
            Some("integer") => match (bound("minimum"), bound("maximum")) {
                (Some(_), Some(_)) => Message::AnIntegerBetween,
                (Some(_), None) => Message::AnIntegerFrom,
                _ => Message::AnInteger,
            },
            Some("array") => Message::AList,
            Some("number") => Message::ANumber,
            _ => Message::AnObject,
        };
        let [min, max] = ["minimum", "maximum"].map(|key| bound(key).unwrap_or(0).to_string());
        message.say(self.lang, &[("min", &min), ("max", &max)])
    }
}

/// Tells whether a value is what its schema asks for, as far as types, names and bounds go.
fn is_valid(property: &Value, value: &Value) -> bool {
    let has_type = match property.get("type").and_then(Value::as_str) {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("array") => value.is_array(),
        Some("number") => value.is_number(),
        Some("object") => value.is_object(),
        _ => true,
    };
    let bound = |key: &str| property.get(key).and_then(Value::as_f64);
    let number = value.as_f64();
    let is_above = bound("minimum").is_none_or(|min| number.is_none_or(|number| number >= min));
    let is_below = bound("maximum").is_none_or(|max| number.is_none_or(|number| number <= max));
    let is_named = match property.get("enum") {
        Some(Value::Array(names)) => names.contains(value),
        _ => true,
    };
    has_type && is_above && is_below && is_named
}
