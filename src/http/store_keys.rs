//! Keys of requests, as the limiters in a store name them.

use super::client_addr::ClientAddr;
use super::header_key::HeaderValueKey;
use super::path_template::PathKey;
use crate::redis::StoreKey;
use sha2::{Digest, Sha256};

/// By its text, which an operator can read.
impl StoreKey for ClientAddr {
    fn write_key(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.to_string().as_bytes());
    }
}

/// By its digest: it is a secret, and the store's keys are read by many.
impl StoreKey for HeaderValueKey {
    fn write_key(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&Sha256::digest(self.as_bytes()));
    }
}

/// By the template's place in its list: all servers must have the same list.
impl StoreKey for PathKey {
    fn write_key(&self, bytes: &mut Vec<u8>) {
        match self.index() {
            Some(index) => index.write_key(bytes),
            None => bytes.push(b'-'),
        }
    }
}
