//! Signed page tokens: an app's server puts `KEY.EXPIRY.SIGNATURE` into its page in place of the site's key, so that
//! only programs that load the page can send reports.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac::{HMAC_SHA256, Key, verify};

use crate::config::secret::Secret;
use crate::http::error::{ApiError, Reason};

/// The secret that a site shares with its app's server.
pub(crate) struct SigningKey(Key);

/// The parts of a parameter `site` that has a token.
struct PageToken<'a> {
    /// The key of the site, and the seconds since 1970 at which the token expires: `KEY.EXPIRY`.
    signed: &'a str,
    site_key: &'a str,
    expires_s: i64,
    signature: &'a str,
}

impl SigningKey {
    pub(super) fn new(secret: &Secret) -> Self {
        Self(Key::new(HMAC_SHA256, secret.bytes()))
    }

    /// Checks the parameter `site` of a beacon.
    pub(super) fn check(&self, parameter: &str, now_ms: i64) -> Result<(), ApiError> {
        let token = PageToken::read(parameter).filter(|token| self.has_signed(token)).ok_or_else(|| {
            let message = "the site needs a page token `KEY.EXPIRY.SIGNATURE`, signed with its `signing_key`";
            ApiError::new(Reason::PageTokenInvalid, message)
        })?;
        if token.expires_s <= now_ms.div_euclid(1_000) {
            let message = "the page token has expired: start the probe with a new one";
            return Err(ApiError::new(Reason::PageTokenExpired, message));
        }
        Ok(())
    }

    fn has_signed(&self, token: &PageToken<'_>) -> bool {
        let signature = URL_SAFE_NO_PAD.decode(token.signature);
        signature.is_ok_and(|signature| verify(&self.0, token.signed.as_bytes(), &signature).is_ok())
    }
}

/// The key of the site in a parameter `site` that has a token.
pub(super) fn site_key(parameter: &str) -> Option<&str> {
    PageToken::read(parameter).map(|token| token.site_key)
}

impl<'a> PageToken<'a> {
    /// A key may have points of its own.
    fn read(parameter: &'a str) -> Option<Self> {
        let (signed, signature) = parameter.rsplit_once('.')?;
        let (site_key, expires_s) = signed.rsplit_once('.')?;
        let is_number = expires_s.bytes().all(|byte| byte.is_ascii_digit());
        let expires_s = expires_s.parse().ok().filter(|_| is_number)?;
        Some(Self { signed, site_key, expires_s, signature })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ring::hmac::sign;

    use super::*;

    const NOW_MS: i64 = 1_795_637_520_000;

    fn key(secret: &str) -> SigningKey {
        SigningKey::new(&Secret::from(secret))
    }

    fn token(signing: &SigningKey, signed: &str) -> String {
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(sign(&signing.0, signed.as_bytes())))
    }

    fn refusal(signing: &SigningKey, parameter: &str) -> Option<Reason> {
        signing.check(parameter, NOW_MS).err().map(|refused| refused.reason)
    }

    #[test]
    fn a_token_of_the_documented_programs_is_valid() {
        // Made by the programs in `docs/fake-reports.md` with these values.
        let token = "pk_shop.1795641120.SQ9J6uXPHulTCANBHotZ1goRbAMKfHPSeEMSEg5PvAs";
        assert_eq!(refusal(&key("0123456789abcdef0123456789abcdef"), token), None);
        assert_eq!(site_key(token), Some("pk_shop"));
    }

    #[test]
    fn a_token_counts_until_it_expires() {
        let own = key("one");
        for (expires_s, expected) in [
            (NOW_MS / 1_000 + 1, None),
            (NOW_MS / 1_000, Some(Reason::PageTokenExpired)),
            (0, Some(Reason::PageTokenExpired)),
        ] {
            assert_eq!(refusal(&own, &token(&own, &format!("a.b.{expires_s}"))), expected, "{expires_s}");
        }
    }

    #[test]
    fn tokens_of_others_are_refused() {
        let own = key("one");
        let signed = format!("shop.{}", NOW_MS / 1_000 + 60);
        let (good, other) = (token(&own, &signed), token(&key("two"), &signed));
        let forged = [
            other.clone(),
            good.replace("shop", "blog"),
            good.replace("shop.", "shop.1"),
            format!("{good}="),
            format!("{good}A"),
            signed,
            "shop".to_owned(),
            "shop..".to_owned(),
            "shop.+1.".to_owned(),
            String::new(),
        ];
        for forged in forged {
            assert_eq!(refusal(&own, &forged), Some(Reason::PageTokenInvalid), "{forged}");
        }
        assert_eq!(refusal(&own, &good), None);
    }

    proptest! {
        #[test]
        fn no_change_of_a_token_is_accepted(at in 0_usize..200, byte in 0x21_u8..0x7f, text in ".{0,80}") {
            let own = key("one");
            let good = token(&own, &format!("shop.{}", NOW_MS / 1_000 + 60));
            let mut changed = good.clone().into_bytes();
            let at = at % changed.len();
            changed[at] = byte;
            let changed = String::from_utf8(changed).unwrap();
            prop_assert_eq!(refusal(&own, &changed).is_none(), changed == good);
            prop_assert!(refusal(&own, &text).is_some());
            let longer = format!("shop.{text}");
            prop_assert!(refusal(&own, &longer).is_some());
        }
    }
}
