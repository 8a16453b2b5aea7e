//! First light.
use testkit::{World, script};
#[test]
fn p1_first() {
    let mut world = World::new();
    world.agent.add(script().text("hello").reasoning("hm"));
    let session = world.create();
    world.post(&session, "hi");
    let view = world.until_quiet(&session);
    println!("{view:#?}");
    world.restart();
    let session = world.hub().open(session.session());
    assert_eq!(world.view(&session), view);
}
