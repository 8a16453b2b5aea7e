//! Through the door: the built binary, real HTTP, a scripted model over real sockets.

mod access;
mod around;
mod command_line;
mod descriptors;
mod device;
mod exporting;
mod following;
mod lists;
mod living;
mod messaging;
mod openid;
mod operating;
mod options;
mod organising;
mod passkeys;
mod peer;
mod people;
mod posting;
mod providers;
mod remembering;
mod selftest;
mod settings;
mod stage;
mod stopping;
mod tasks;
mod uploading;
