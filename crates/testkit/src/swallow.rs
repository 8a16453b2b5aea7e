//! A connection on which answers can get lost: what is asked arrives, and who asked never hears of it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A listener that passes everything on to a server and back, until it is told to keep answers to itself.
#[derive(Debug)]
pub struct Swallow {
    port: u16,
    swallowing: Arc<AtomicBool>,
}

impl Swallow {
    /// Listens before a server.
    ///
    /// # Errors
    /// When it cannot.
    pub fn before(server: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let swallowing = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&swallowing);
        // It ends with the process, as do its connections.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                pass_on(client, server, &flag);
            }
        });
        Ok(Self { port, swallowing })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Whether answers get lost from now on.
    pub fn set_swallowing(&self, swallowing: bool) {
        self.swallowing.store(swallowing, Ordering::SeqCst);
    }
}

fn pass_on(client: TcpStream, server: TcpStream, flag: &Arc<AtomicBool>) {
    let (Ok(client_reads), Ok(server_reads)) = (client.try_clone(), server.try_clone()) else { return };
    let never = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(flag);
    std::thread::spawn(move || copy(client_reads, server, &never));
    std::thread::spawn(move || copy(server_reads, client, &flag));
}

/// Copies until one side ends, or something came that must not be passed on; then both are closed.
fn copy(mut from: TcpStream, mut to: TcpStream, swallowing: &AtomicBool) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if swallowing.load(Ordering::SeqCst) || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    for socket in [from, to] {
        // One that is closed already is closed.
        socket.shutdown(Shutdown::Both).unwrap_or(());
    }
}
