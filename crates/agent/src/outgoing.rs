//! The one client for everything that is fetched. Who asks for an address, a user or a model, must not reach what only this
//! machine and its neighbours can: an address is read once, every address of its name is looked at, and the connection goes
//! to one of those that were looked at. Inner places are reached only when the operator named them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Method, RequestBuilder, Url};

use crate::answer::describe;
use crate::transport::Broken;

/// Longest wait for a connection. Whoever is there answers a SYN within this on any network.
const CONNECT_MAX: Duration = Duration::from_secs(20);
/// Bytes of an address.
const URL_BYTES_MAX: usize = 2_048;

/// Why nothing is fetched from an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("invalid URL")]
    Unreadable,
    #[error("only http and https URLs are allowed")]
    Scheme,
    #[error("the URL must not contain a user name or password")]
    Userinfo,
    #[error("the URL points to this machine or a private network, which the operator hasn't allowed")]
    Inner,
}

/// A place that the operator named: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    scheme: String,
    host: String,
    port: u16,
}

/// The proxy and the certificate authorities for places that the operator named.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// The URL of a proxy. It may contain a password.
    pub proxy: Option<String>,
    /// Certificates of authorities to trust besides the system's, as PEM.
    pub certificate: Option<String>,
}

impl std::fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (proxy, certificate) = (self.proxy.is_some(), self.certificate.is_some());
        f.debug_struct("ClientOptions").field("proxy", &proxy).field("certificate", &certificate).finish()
    }
}

/// The client.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// For places that the operator named, wherever they are.
    named: Client,
    /// For all others: connects to public addresses only.
    public: Client,
    places: Arc<Vec<Place>>,
}

impl Outgoing {
    /// Makes the client; `places` are addresses that the operator named. A TLS provider must have been installed.
    ///
    /// # Errors
    /// When there is none.
    pub fn new<'a>(places: impl IntoIterator<Item = &'a str>) -> Result<Self, Broken> {
        Self::with(places, &ClientOptions::default())
    }

    /// Makes the client, with a proxy or additional certificate authorities for `places`.
    ///
    /// # Errors
    /// Returns an error if the proxy's address or the certificate can't be used.
    pub fn with<'a>(
        places: impl IntoIterator<Item = &'a str>,
        options: &ClientOptions,
    ) -> Result<Self, Broken> {
        let named = make(None, options)?;
        let public = make(Some(Arc::new(PublicOnly)), &ClientOptions::default())?;
        let places = places.into_iter().filter_map(|text| place(&Url::parse(text).ok()?)).collect();
        Ok(Self { named, public, places: Arc::new(places) })
    }

    /// A request to an address, if it may be fetched. Redirects are answers, not followed.
    ///
    /// # Errors
    /// When it may not.
    pub fn request(&self, method: Method, address: &str) -> Result<RequestBuilder, Refused> {
        let url = readable(address)?;
        let is_named = place(&url).is_some_and(|place| self.places.contains(&place));
        if is_named {
            return Ok(self.named.request(method, url));
        }
        check_literal(&url)?;
        Ok(self.public.request(method, url))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that makes a client for what is fetched"
)]
fn make(resolver: Option<Arc<PublicOnly>>, options: &ClientOptions) -> Result<Client, Broken> {
    let unusable =
        |what: &str, error: reqwest::Error| Broken(format!("{what}: {}", describe(&error.without_url())));
    let mut builder = Client::builder()
        .connect_timeout(CONNECT_MAX)
        // A redirect would carry a key to another host, and lead around every check.
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never());
    if let Some(resolver) = resolver {
        // A proxy of the environment would look names up itself.
        builder = builder.dns_resolver(resolver).no_proxy();
    }
    if let Some(proxy) = &options.proxy {
        let proxy = reqwest::Proxy::all(proxy).map_err(|error| unusable("the proxy's address", error))?;
        builder = builder.proxy(proxy);
    }
    if let Some(certificate) = &options.certificate {
        let authorities = reqwest::Certificate::from_pem_bundle(certificate.as_bytes())
            .map_err(|error| unusable("the certificate", error))?;
        if authorities.is_empty() {
            return Err(Broken("the certificate contains no PEM block".to_owned()));
        }
        builder = authorities.into_iter().fold(builder, reqwest::ClientBuilder::add_root_certificate);
    }
    builder.build().map_err(|error| Broken(describe(&error)))
}

/// Whether an address can be read as one that the operator may name.
///
/// # Errors
/// When it cannot.
pub fn check(address: &str) -> Result<(), Refused> {
    readable(address).map(drop)
}

/// Reads an address once; what is fetched is what was read.
fn readable(address: &str) -> Result<Url, Refused> {
    let strange = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if address.len() > URL_BYTES_MAX || address.chars().any(strange) {
        return Err(Refused::Unreadable);
    }
    let url = Url::parse(address).map_err(|_| Refused::Unreadable)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refused::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refused::Userinfo);
    }
    url.host_str().filter(|host| !host.is_empty()).ok_or(Refused::Unreadable)?;
    Ok(url)
}

fn place(url: &Url) -> Option<Place> {
    Some(Place {
        scheme: url.scheme().to_owned(),
        host: url.host_str()?.trim_end_matches('.').to_ascii_lowercase(),
        port: url.port_or_known_default()?,
    })
}

/// Looks at an address that is written as numbers; a name is looked at when it is resolved.
fn check_literal(url: &Url) -> Result<(), Refused> {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) if is_public(address) => Ok(()),
        Ok(_) => Err(Refused::Inner),
        // A name without a dot, or of the machine's own kind, is never a public one.
        Err(_) => {
            let name = bare.trim_end_matches('.').to_ascii_lowercase();
            let inner = ["localhost", "local", "internal", "lan", "home", "intranet", "corp", "arpa"];
            let last = name.rsplit('.').next().unwrap_or_default();
            let is_inner = !name.contains('.') || inner.contains(&last);
            if is_inner { Err(Refused::Inner) } else { Ok(()) }
        }
    }
}

/// Gives a name's addresses only when all of them are public.
#[derive(Debug)]
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let checked = all_public(found)?;
            Ok(Box::new(checked.into_iter()) as Addrs)
        })
    }
}

/// All of some addresses, or none when one of them is inner: which one is connected to is nobody's choice.
fn all_public(addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Refused> {
    let inner = addresses.is_empty() || addresses.iter().any(|address| !is_public(address.ip()));
    if inner { Err(Refused::Inner) } else { Ok(addresses) }
}

/// Whether an address is one of the open internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    /// First address and bits of every range that is not the open internet's.
    const NOT: [([u8; 4], u32); 18] = [
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([168, 63, 129, 16], 32),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 31, 196, 0], 24),
        ([192, 52, 193, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([192, 175, 48, 0], 24),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        ([224, 0, 0, 0], 3),
    ];
    let bits = u32::from(address);
    !NOT.iter().any(|(first, length)| {
        let mask = u32::MAX << (32 - length);
        bits & mask == u32::from(Ipv4Addr::from(*first)) & mask
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is given out; inside it, these lead elsewhere or nowhere: Teredo and other protocols (2001:0::/23),
    // documentation, 6to4, benchmarks.
    let given_out = first & 0xe000 == 0x2000;
    let special = (first == 0x2001 && (second < 0x0200 || second == 0x0db8))
        || first == 0x2002
        || (first == 0x3fff && second < 0x1000);
    given_out && !special
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(places: &[&str]) -> Outgoing {
        drop(rustls::crypto::ring::default_provider().install_default());
        Outgoing::new(places.iter().copied()).unwrap()
    }

    /// Hosts of this machine, its neighbours, and nowhere, however they are written.
    const HOSTS: &str = "
        localhost LOCALHOST localhost. foo.localhost 127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433
        017700000001 0x7f000001 0x7f.1 0177.0.0.1 127.0.0.01 0 0.0.0.0 0x0 00 10.0.0.1 10.255.255.255
        172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 169.254.169.254 169.254.0.1 2852039166
        0xa9fea9fe 0251.0376.0251.0376 100.64.0.1 100.127.255.255 168.63.129.16 192.0.0.1 192.0.0.192
        192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
        255.255.255.255 192.88.99.1 [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1]
        [::ffff:169.254.169.254] [::ffff:10.0.0.1] [::127.0.0.1] [64:ff9b::7f00:1]
        [64:ff9b::169.254.169.254] [64:ff9b:1::1] [2002:7f00:1::] [2002:a9fe:a9fe::] [2001::1]
        [2001:0:7f00:1::] [2001:db8::1] [fc00::1] [fd00::1] [fd00:ec2::254] [fe80::1] [fec0::1] [ff02::1]
        [100::1] [3fff::1] [5f00::1] metadata metadata.google.internal instance-data
        printer.local router.lan db.corp x.home 1.0.0.127.in-addr.arpa";

    /// Every way to write an address of this machine or its neighbours.
    fn corpus() -> Vec<String> {
        let hosts: Vec<&str> = HOSTS.split_whitespace().collect();
        let mut all: Vec<String> = hosts.iter().map(|host| format!("http://{host}/")).collect();
        all.extend(hosts.iter().map(|host| format!("https://{host}:8443/x?y=z#f")));
        let whole = [
            "file:///etc/passwd",
            "gopher://127.0.0.1:70/",
            "ftp://example.org/",
            "dict://example.org/",
            "data:text/plain,x",
            "javascript:1",
            "unix:/run/x",
            "ldap://example.org",
            "http:///",
            "http://",
            "//example.org",
            "example.org",
            "",
            "http://user@example.org/",
            "http://user:password@example.org/",
            "http://example.org\\@127.0.0.1/",
            "http://127.0.0.1\\.example.org/",
            "http://example.org\n.evil/",
            "http://exa\tmple.org/",
            "http://[::1",
            "http://a b/",
            "http://127.0.0.1%23.example.org/",
            "http://①②⑦.⓪.⓪.①/",
            "http://127。0。0。1/",
            "http://${HOST}/",
            "jar:http://x!/",
        ];
        all.extend(whole.map(str::to_owned));
        all.push(format!("http://example.org/{}", "x".repeat(URL_BYTES_MAX)));
        all
    }

    #[tokio::test]
    async fn no_way_of_writing_it_leads_to_this_machine_or_its_neighbours() {
        let outgoing = outgoing(&["http://127.0.0.1:9/v1"]);
        let corpus = corpus();
        assert!(corpus.len() >= 150, "{}", corpus.len());
        for address in &corpus {
            assert!(outgoing.request(Method::GET, address).is_err(), "{address}");
        }
    }

    #[tokio::test]
    async fn a_place_that_the_operator_named_is_reached_and_nothing_beside_it() {
        let outgoing = outgoing(&["http://127.0.0.1:8080/v1", "https://models.internal"]);
        for address in [
            "http://127.0.0.1:8080/v1/models",
            "http://0x7f.1:8080/",
            "https://models.internal/x",
            "https://MODELS.internal:443/",
        ] {
            assert!(outgoing.request(Method::GET, address).is_ok(), "{address}");
        }
        for address in [
            "http://127.0.0.1:8081/",
            "https://127.0.0.1:8080/",
            "http://127.0.0.2:8080/",
            "http://models.internal/",
        ] {
            assert_eq!(outgoing.request(Method::GET, address).unwrap_err(), Refused::Inner, "{address}");
        }
        for address in
            ["https://example.org/", "http://93.184.216.34/", "https://[2606:2800:220:1:248:1893:25c8:1946]/"]
        {
            assert!(outgoing.request(Method::GET, address).is_ok(), "{address}");
        }
    }

    #[test]
    fn a_name_with_one_inner_address_is_not_connected_to() {
        let address = |text: &str| SocketAddr::new(text.parse().unwrap(), 0);
        let (outer, inner) = (address("93.184.216.34"), address("10.0.0.1"));
        assert!(all_public(vec![outer]).is_ok());
        for mixed in [
            vec![],
            vec![inner],
            vec![outer, inner],
            vec![inner, outer],
            vec![outer, address("::ffff:127.0.0.1")],
        ] {
            assert_eq!(all_public(mixed.clone()), Err(Refused::Inner), "{mixed:?}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_refused_when_it_is_looked_up() {
        // Whatever the file of hosts or a server of names says.
        let resolved = PublicOnly.resolve("localhost".parse().unwrap()).await;
        assert!(resolved.is_err());
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = format!("http://{}/", listener.local_addr().unwrap());
        let outgoing = outgoing(&[&place]);
        for status in [301, 302, 303, 307, 308] {
            let asked = outgoing.request(Method::GET, &place).unwrap().send();
            let answered = async {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut asked = [0; 1_024];
                assert!(tokio::io::AsyncReadExt::read(&mut socket, &mut asked).await.unwrap() > 0);
                let reply = format!(
                    "HTTP/1.1 {status} Moved\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                tokio::io::AsyncWriteExt::write_all(&mut socket, reply.as_bytes()).await.unwrap();
                socket
            };
            let (reply, _socket) = tokio::join!(asked, answered);
            assert_eq!(reply.unwrap().status().as_u16(), status);
        }
    }
}
