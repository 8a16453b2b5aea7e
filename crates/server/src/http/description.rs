//! The OpenAPI description of the API: the document that the routes declare, with the parts that all of them share.

use std::collections::BTreeMap;

use utoipa::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{PathItem, Ref, RefOr, Response, Server};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Everturn",
        version = "1",
        description = "A server for AI agent sessions that never loses a turn. A 2xx response means that the change is on disk. \
            Errors are problem details (RFC 9457) with a `code`."
    ),
    components(schemas(super::error::Problem, super::error::ErrorCode, session::Session, session::Event)),
    modifiers(&TokenScheme)
)]
struct Description;

struct TokenScheme;

impl utoipa::Modify for TokenScheme {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        openapi.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// Returns the document without routes.
pub(super) fn start() -> utoipa::openapi::OpenApi {
    let mut openapi = Description::openapi();
    openapi.servers = Some(vec![Server::new("/")]);
    openapi
}

/// Completes the document: names the variants of enums, and gives every operation the media type of errors, a description of
/// each response, and an explicit absence of authentication.
pub(super) fn finish(openapi: &mut utoipa::openapi::OpenApi) {
    if let Some(components) = &mut openapi.components {
        name_variants(&mut components.schemas);
    }
    for item in openapi.paths.paths.values_mut() {
        for operation in operations(item) {
            operation.security.get_or_insert_default();
            for (status, response) in &mut operation.responses.responses {
                if let RefOr::T(response) = response {
                    complete(status, response);
                }
            }
        }
    }
}

/// Gives every variant of an enum, and the object inside it, a schema of its own. Client generators cannot name them
/// otherwise.
fn name_variants(schemas: &mut BTreeMap<String, RefOr<Schema>>) {
    let mut named = BTreeMap::new();
    for (name, schema) in schemas.iter_mut() {
        let RefOr::T(Schema::OneOf(one_of)) = schema else { continue };
        for item in &mut one_of.items {
            let RefOr::T(Schema::Object(variant)) = &mut *item else { continue };
            let Some((tag, inner)) = variant.properties.iter_mut().next() else { continue };
            let variant_name = format!("{name}{}", pascal(tag));
            if let RefOr::T(Schema::Object(_)) = inner {
                let fields = Ref::from_schema_name(format!("{variant_name}Fields"));
                named.insert(format!("{variant_name}Fields"), std::mem::replace(inner, fields.into()));
            }
            let reference = Ref::from_schema_name(variant_name.clone());
            named.insert(variant_name, std::mem::replace(item, reference.into()));
        }
    }
    for (name, schema) in named {
        assert!(schemas.insert(name.clone(), schema).is_none(), "two schemas are named {name}");
    }
}

fn pascal(snake: &str) -> String {
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    snake.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

fn complete(status: &str, response: &mut Response) {
    if status == "default"
        && let Some(problem) = response.content.shift_remove("application/json")
    {
        response.content.insert("application/problem+json".to_owned(), problem);
    }
    if response.description.is_empty() {
        description_of(status).clone_into(&mut response.description);
    }
}

fn description_of(status: &str) -> &'static str {
    match status {
        "101" => "The connection becomes a WebSocket.",
        "200" => "Success.",
        "201" => "Created.",
        "202" => "Accepted.",
        "204" => "Done.",
        "302" => "A redirect.",
        "503" => "Not available yet.",
        "default" => "An error, as problem details with a `code`.",
        _ => "The response.",
    }
}
