//! Tags and projects: what stands where, what each user sees of it, and what stays when a project goes.

#![expect(clippy::unwrap_used, reason = "test code")]

use serde_json::{Value, json};

use crate::people::user;
use crate::stage::Stage;

/// The sessions of a filtered list.
fn listed(stage: &Stage, query: &str) -> Vec<String> {
    let page = stage.must("GET", &format!("/sessions?{query}"), &json!({}));
    let lines = page["sessions"].as_array().unwrap();
    lines.iter().map(|line| line["session"].as_str().unwrap().to_owned()).collect()
}

fn change(stage: &Stage, session: &str, body: &Value) {
    stage.must("PATCH", &format!("/sessions/{session}"), body);
}

#[test]
fn sessions_are_found_by_tag_and_by_project() {
    let mut stage = Stage::new();
    let [one, two, three] = [(); 3].map(|()| stage.client.create().unwrap());
    let made = stage.must("POST", "/projects", &json!({ "name": "  Birds " }));
    assert_eq!(made["name"], "Birds");
    let project = made["project"].as_str().unwrap().to_owned();
    change(&stage, &one, &json!({ "tags": ["Heron", "reed", " heron "] }));
    change(&stage, &two, &json!({ "tags": ["reed"] }));
    change(&stage, &two, &json!({ "project": project }));
    change(&stage, &three, &json!({ "project": project }));
    // All of it is in the logs and in the list.
    stage.restart();
    let view = stage.view(&one);
    assert_eq!(view["tags"], json!(["heron", "reed"]));
    assert_eq!(listed(&stage, "tag=HERON"), [one.as_str()]);
    assert_eq!(listed(&stage, "tag=reed"), [two.as_str(), one.as_str()]);
    assert_eq!(listed(&stage, &format!("project={project}")), [three.as_str(), two.as_str()]);
    assert_eq!(listed(&stage, &format!("project={project}&tag=reed")), [two.as_str()]);
    assert_eq!(listed(&stage, "tag=%00"), Vec::<String>::new());
    let page = stage.must("GET", &format!("/sessions?count=1&project={project}"), &json!({}));
    let next = page["next"].as_str().unwrap();
    assert_eq!(listed(&stage, &format!("project={project}&before={next}")), [two.as_str()]);
    let tags = stage.must("GET", "/tags", &json!({}));
    assert_eq!(tags["tags"], json!([{ "tag": "reed", "sessions": 2 }, { "tag": "heron", "sessions": 1 }]));
    // A project that goes leaves its sessions, in no project.
    assert_eq!(stage.ask("DELETE", &format!("/projects/{project}"), &json!({})).status, 204);
    assert_eq!(listed(&stage, &format!("project={project}")), Vec::<String>::new());
    assert_eq!(stage.view(&two).get("project"), None);
    let page = stage.must("GET", "/sessions", &json!({}));
    assert!(page["sessions"].as_array().unwrap().iter().all(|line| line["project"].is_null()));
    change(&stage, &two, &json!({ "project": null }));
    let at = format!("/sessions/{one}");
    for (body, code) in [
        (json!({ "tags": [""] }), "bad_tag"),
        (json!({ "tags": ["x".repeat(41)] }), "bad_tag"),
        (json!({ "tags": (0..21).map(|number| number.to_string()).collect::<Vec<_>>() }), "too_many_tags"),
        (json!({ "project": project }), "project_not_found"),
        (json!({ "tags": [], "title": "x" }), "bad_request"),
    ] {
        assert_eq!(stage.ask("PATCH", &at, &body).body["code"], code, "{body}");
    }
}

#[test]
fn a_project_is_its_users_alone() {
    let stage = Stage::new();
    let (_, bob) = user(&stage, "bob", "write");
    let made = stage.must("POST", "/projects", &json!({ "name": "Birds" }));
    let project = made["project"].as_str().unwrap();
    let unknown = "00000000-0000-0000-0000-000000000001";
    let own = bob.create().unwrap();
    for (method, body) in [("PATCH", json!({ "name": "mine" })), ("DELETE", json!({}))] {
        let foreign = bob.ask(method, &format!("/projects/{project}"), &body).unwrap();
        let none = bob.ask(method, &format!("/projects/{unknown}"), &body).unwrap();
        assert_eq!(foreign.status, 404);
        assert_eq!(foreign.body.to_string().replace(project, unknown), none.body.to_string());
    }
    let into = |project: &str| {
        bob.ask("PATCH", &format!("/sessions/{own}"), &json!({ "project": project })).unwrap()
    };
    let (foreign, none) = (into(project), into(unknown));
    assert_eq!((foreign.status, none.status), (404, 404));
    assert_eq!(foreign.body.to_string().replace(project, unknown), none.body.to_string());
    assert_eq!(bob.must("GET", "/projects", &json!({})).unwrap()["projects"], json!([]));
    // Another's tags are not counted either.
    let session = stage.client.create().unwrap();
    change(&stage, &session, &json!({ "tags": ["secret"] }));
    assert_eq!(bob.must("GET", "/tags", &json!({})).unwrap()["tags"], json!([]));
    // With an id of one's own, asking again makes no second one; a name can be changed.
    let body = json!({ "id": unknown, "name": "Boats" });
    bob.must("POST", "/projects", &body).unwrap();
    bob.must("POST", "/projects", &body).unwrap();
    assert_eq!(
        bob.ask("PATCH", &format!("/projects/{unknown}"), &json!({ "name": "Ships" })).unwrap().status,
        204
    );
    let projects = bob.must("GET", "/projects", &json!({})).unwrap();
    assert_eq!(projects["projects"].as_array().unwrap().len(), 1);
    assert_eq!(projects["projects"][0]["name"], "Ships");
    assert_eq!(bob.ask("POST", "/projects", &json!({ "name": "\n" })).unwrap().body["code"], "bad_name");
}

#[test]
fn p17_every_id_of_a_session_leads_to_it() {
    let stage = Stage::new();
    let first = stage.client.create().unwrap();
    let (second, path) = ("01930000-0000-7000-8000-000000000001", format!("/sessions/{first}/ids"));
    stage.must("POST", &path, &json!({ "id": second }));
    stage.must("POST", &path, &json!({ "id": second }));
    stage.answered(second, "say 2 of heron");
    assert_eq!(stage.view(&first)["turns"], stage.view(second)["turns"]);
    assert_eq!(stage.must("GET", &path, &json!({}))["ids"], json!([first, second]));

    let draft = |id: &str, text: &str, base: Value| {
        let body = json!({ "text": text, "device": "desk", "base": base });
        stage.ask("PUT", &format!("/sessions/{id}/draft"), &body).status
    };
    assert_eq!(draft(&first, "Herons", Value::Null), 200);
    assert_eq!(draft(second, "Cranes", json!(0)), 409, "a session has one draft");
    assert_eq!(draft(second, "Cranes", json!(1)), 200);

    let other = stage.client.create().unwrap();
    assert_eq!(stage.ask("POST", &path, &json!({ "id": other })).status, 409, "an id leads to one session");

    let remove = |id: &str| stage.ask("DELETE", &format!("/sessions/{second}/ids/{id}"), &json!({}));
    assert_eq!(remove(&first).status, 400, "lists name the session by its first id");
    assert_eq!(stage.ask("GET", &format!("/sessions/{first}"), &json!({})).status, 200);
    assert_eq!(remove(second).status, 200);
    assert_eq!(stage.ask("GET", &format!("/sessions/{second}"), &json!({})).status, 404);
    assert_eq!(stage.view(&first)["turns"].as_array().unwrap().len(), 1);
}
