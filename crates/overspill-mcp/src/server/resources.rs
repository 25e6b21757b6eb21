//! Spills as resources: listed newest first, read in pages that are as bounded as everything else.

use overspill::{AnyTool as _, Entry, Host, Status};
use overspill_tools::read::Read;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::{Value, json};

use crate::link::SCHEME;

/// How many are listed at once.
const PAGE: usize = 100;

/// Returns a spill as a resource.
pub(super) fn resource(id: &str, bytes: Option<u64>) -> Resource {
    let resource = Resource::new(format!("{SCHEME}{id}"), id)
        .with_description("complete output; add ?offset=LINE&limit=LINES to read on")
        .with_mime_type("text/plain");
    match bytes {
        Some(bytes) => resource.with_size(bytes),
        None => resource,
    }
}

/// Returns how the address of a part is made.
pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{id}}{{?offset,limit,column}}"), "spill")
        .with_description("a complete output, `limit` lines from line `offset` on")
        .with_mime_type("text/plain")
}

/// Lists spills, the newest first. A cursor is the id of the last one listed before.
pub(super) fn list(host: &Host, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let entries = host
        .store()
        .list()
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let is_after = |entry: &Entry| cursor.is_none_or(|cursor| entry.id.as_str() < cursor);
    let mut rest = entries.iter().filter(|entry| is_after(entry));
    let page: Vec<Resource> = rest
        .by_ref()
        .take(PAGE)
        .map(|entry| resource(&entry.id.to_string(), Some(entry.bytes)))
        .collect();
    let next = page.last().map(|last| last.name.clone());
    let mut result = ListResourcesResult::with_all_items(page);
    result.next_cursor = next.filter(|_| rest.next().is_some());
    Ok(result)
}

/// Tells whether an address is that of a spill in the store.
pub(crate) fn has(host: &Host, uri: &str) -> bool {
    parts(uri).is_some_and(|(id, _)| host.store().find(id).is_ok())
}

/// Returns the id and the query of an address.
fn parts(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (id, query) = rest.split_once('?').unwrap_or((rest, ""));
    // Read also reads files; an id has no slash.
    let is_id = !id.is_empty() && !id.contains(['/', '%', '\\', '.']);
    is_id.then_some((id, query))
}

/// Reads a page of a spill: what Read would show of it.
pub(crate) fn read(host: &Host, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let not_found = || ErrorData::resource_not_found(format!("no such resource `{uri}`"), None);
    let (id, query) = parts(uri).ok_or_else(not_found)?;
    let mut params = json!({ "path": id });
    for (key, text) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let number: u64 = text
            .parse()
            .map_err(|_| ErrorData::invalid_params(format!("`{key}` is not a number"), None))?;
        params[key] = json!(number);
    }
    if host.store().find(id).is_err() {
        return Err(not_found());
    }
    let envelope = Read.call(host, params);
    if envelope.status == Status::Error {
        return Err(ErrorData::invalid_params(envelope.text, None));
    }
    let text = envelope.data.get("content").and_then(Value::as_str);
    let contents =
        ResourceContents::text(text.unwrap_or_default(), uri).with_mime_type("text/plain");
    let mut result = ReadResourceResult::new(vec![contents]);
    // A spill does not change, but it may go at any time.
    result.ttl_ms = Some(0);
    result.cache_scope = Some(CacheScope::Private);
    Ok(result)
}
