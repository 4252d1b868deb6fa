//! A server that speaks TLS only, with a certificate that is trusted, and with one that is not.

use super::server::{Server, free_port};
use std::path::PathBuf;
use std::process::{Command, Output};
use tollgate::Limit;
use tollgate::redis::{OnFailure, Store};

/// An authority that nobody knows, and a server's certificate that it has signed.
struct Papers {
    folder: PathBuf,
}

impl Papers {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("tollgate-tls-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let papers = Self { folder };
        let authority_key = rcgen::KeyPair::generate().expect("a key");
        let mut authority = rcgen::CertificateParams::new(vec![]).expect("parameters");
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let signed = authority
            .self_signed(&authority_key)
            .expect("a certificate");
        papers.write("authority.pem", &signed.pem());
        let issuer = rcgen::Issuer::new(authority, authority_key);
        let key = rcgen::KeyPair::generate().expect("a key");
        let server = rcgen::CertificateParams::new(vec!["localhost".to_owned()]);
        let server = server.expect("parameters").signed_by(&key, &issuer);
        papers.write("server.pem", &server.expect("a certificate").pem());
        papers.write("server.key", &key.serialize_pem());
        papers
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

impl Drop for Papers {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What a process says that trusts this authority: trust is a matter of its environment.
fn said_by_one_that_trusts(authority: &str, url: &str) -> String {
    let output: Output = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "encrypted::one_that_connects",
            "--nocapture",
            "--include-ignored",
        ])
        .env("TOLLGATE_TEST_URL", url)
        .env("SSL_CERT_FILE", authority)
        .env_remove("SSL_CERT_DIR")
        .output()
        .expect("a process");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split_once("said: "));
    let (_, said) = line.unwrap_or_else(|| panic!("nothing said in {output:?}"));
    said.to_owned()
}

#[test]
#[ignore = "a part of the other test, which starts it as a process"]
fn one_that_connects() {
    let Ok(url) = std::env::var("TOLLGATE_TEST_URL") else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let answer = runtime.expect("a runtime").block_on(async {
        let store = Store::open(&url).expect("an address");
        let limiter = super::builder(&store, Limit::per_day(5)).on_failure(OnFailure::Report);
        limiter
            .build()
            .expect("a limiter")
            .try_acquire(super::KEY)
            .await
    });
    match answer {
        Ok(answer) => println!("said: {:?} {:?}", answer.basis(), answer.remaining()),
        Err(error) => println!("said: {error}"),
    }
}

#[test]
fn a_certificate_is_looked_at() {
    let (ours, others) = (Papers::new("ours"), Papers::new("others"));
    let port = free_port();
    let server = Server::with(&[
        "requirepass secret",
        &format!("tls-port {port}"),
        &format!("tls-cert-file {}", ours.path("server.pem")),
        &format!("tls-key-file {}", ours.path("server.key")),
        "tls-auth-clients no",
    ]);
    let url = format!("rediss://:secret@localhost:{port}");
    let trusted = said_by_one_that_trusts(&ours.path("authority.pem"), &url);
    assert_eq!(trusted, "Store Some(4)");
    let untrusted = said_by_one_that_trusts(&others.path("authority.pem"), &url);
    assert!(untrusted.contains("certificate"), "{untrusted}");
    assert_eq!(server.keys("tollgate").len(), 1, "spent from once");
    // A certificate is for a name.
    let elsewhere = url.replace("localhost", "127.0.0.1");
    let elsewhere = said_by_one_that_trusts(&ours.path("authority.pem"), &elsewhere);
    assert!(elsewhere.contains("certificate"), "{elsewhere}");
}
