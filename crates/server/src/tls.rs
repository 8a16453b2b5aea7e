//! The server's TLS certificate.

use std::sync::Arc;

use anyhow::Context;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsConfig;

/// Reads the certificate and its private key.
///
/// # Errors
/// Returns an error if they can't be read or do not match.
pub(crate) fn acceptor(config: &TlsConfig) -> anyhow::Result<TlsAcceptor> {
    let TlsConfig { certificate, key } = config;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .with_context(|| format!("failed to read certificate {}", certificate.display()))?;
    let secret = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("failed to read private key {}", key.display()))?;
    let mut tls =
        ServerConfig::builder().with_no_client_auth().with_single_cert(chain, secret).with_context(|| {
            format!("failed to use certificate {} with private key {}", certificate.display(), key.display())
        })?;
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(tls)))
}
