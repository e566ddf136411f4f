//! Signs messages as Standard Webhooks describes (`v1`, HMAC-SHA256).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac::{HMAC_SHA256, Key, sign};

/// Value of the header `webhook-signature`.
pub(super) fn signature(key: &[u8], id: &str, timestamp_s: i64, body: &str) -> String {
    let signed = format!("{id}.{timestamp_s}.{body}");
    let tag = sign(&Key::new(HMAC_SHA256, key), signed.as_bytes());
    format!("v1,{}", STANDARD.encode(tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::notify::Notify;

    #[test]
    fn the_published_example_has_its_signature() {
        // From the test vectors of the Standard Webhooks libraries.
        let text = "kind = 'webhook'\nurl = 'https://hooks.example'\nsecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'";
        let receiver: Notify = toml::from_str(text).unwrap();
        let key = receiver.signing_key().unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        assert_eq!(
            signature(&key, id, 1_614_265_330, r#"{"test": 2432232314}"#),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }
}
