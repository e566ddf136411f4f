//! Replaces the ids of responses by keyed hashes, if the operator wants that: who has an account of the provider could
//! look up the text of a response by its id.

use ring::hmac::{self, HMAC_SHA256};

use crate::config::secret::Secret;

/// The key of an operator.
pub(crate) struct IdHash(hmac::Key);

impl IdHash {
    pub(crate) fn new(key: &Secret) -> Self {
        Self(hmac::Key::new(HMAC_SHA256, key.bytes()))
    }

    /// 32 hexadecimal digits that depend on site and id.
    pub(crate) fn of(&self, site: &str, id: &str) -> String {
        let mut signing = hmac::Context::with_key(&self.0);
        signing.update(site.as_bytes());
        // No name of a site has this byte.
        signing.update(&[0]);
        signing.update(id.as_bytes());
        let tag = signing.sign();
        tag.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use beacon::NameShape;

    use super::*;

    #[test]
    fn a_hash_depends_on_key_site_and_id() {
        let hash = |key: &str, site: &str, id: &str| IdHash::new(&key.into()).of(site, id);
        let first = hash("one", "chat", "chatcmpl-1");
        assert_eq!(first, hash("one", "chat", "chatcmpl-1"));
        for other in
            [hash("two", "chat", "chatcmpl-1"), hash("one", "shop", "chatcmpl-1"), hash("one", "chat", "1")]
        {
            assert_ne!(first, other);
        }
        assert!(first.len() == 32 && NameShape::MODEL.fits(first.as_bytes()));
    }
}
