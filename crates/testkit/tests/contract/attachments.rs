//! C23: a message is accepted with its attachments or not at all.

use hub::{CommandError, SessionHandle};
use session::{Attachment, BlobHash, Command, Message, PostMode};
use testkit::{World, script};

const BYTES: &[u8] = b"a drawing of a heron";

fn post_with(blob: &BlobHash) -> Command {
    let (name, media_type) = ("heron.txt".to_owned(), "text/plain".to_owned());
    let file = Attachment { name, media_type, blob: blob.clone(), size_bytes: BYTES.len() as u64 };
    let message = Message { attachments: vec![file], ..Message::text("see the file") };
    Command::PostMessage { message, mode: PostMode::Queue, key: None }
}

fn upload(world: &World) -> BlobHash {
    world.run(world.hub().keep_blob(BYTES.to_vec())).unwrap()
}

fn erase(world: &World, session: &SessionHandle) {
    world.run(world.hub().erase(session.session())).unwrap();
}

#[test]
fn c23_a_message_is_accepted_with_its_attachments_or_not_at_all() {
    let mut world = World::new();
    (0..4).for_each(|_| world.agent.add(script().text("seen")));
    let blob = upload(&world);
    let first = world.create();
    world.submit(&first, post_with(&blob));
    world.until_quiet(&first);
    // The same file waits in another composer while its only session is erased and the server restarts.
    assert_eq!(upload(&world), blob);
    world.restart();
    erase(&world, &first);
    world.restart();
    let second = world.create();
    world.submit(&second, post_with(&blob));
    let view = world.until_quiet(&second);
    assert_eq!(view.turns[0].message.attachments[0].blob, blob);
    assert_eq!(world.run(world.hub().blob(blob.clone())), Ok(Some(BYTES.to_vec())));
    // Once the last session that uses it is erased, it has to be uploaded again.
    erase(&world, &second);
    let third = world.create();
    let refused = world.run(third.submit(post_with(&blob)));
    assert_eq!(refused, Err(CommandError::AttachmentMissing(blob.clone())));
    assert!(world.view(&third).turns.is_empty());
    upload(&world);
    world.submit(&third, post_with(&blob));
    assert_eq!(world.until_quiet(&third).turns.len(), 1);
    assert_eq!(world.run(world.hub().blob(blob)), Ok(Some(BYTES.to_vec())));
}
