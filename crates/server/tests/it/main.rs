//! Through the door: the built binary, real HTTP, a scripted model over real sockets.

mod access;
mod command_line;
mod following;
mod lists;
mod people;
mod posting;
mod stage;
mod stopping;
