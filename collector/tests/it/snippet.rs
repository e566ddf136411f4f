//! What a page is told to put in, as far as it does not depend on whether the probe was built.

use axum::body::Body;
use axum::http::Request;

use crate::harness::{Answer, TestCollector, token};

async fn ask(collector: &TestCollector, path: &str, host: &str) -> Answer {
    collector.send(Request::get(path).header("host", host).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn an_unknown_key_is_refused_and_not_repeated_as_html() {
    let collector = TestCollector::new();
    let path = "/snippet?site=%3Cscript%3Ealert(1)%3C/script%3E";
    let page = ask(&collector, path, "127.0.0.1").await;
    assert_eq!(page.status, 403);
    assert!(page.body.contains("&lt;script&gt;alert(1)") && !page.body.contains("<script>"), "{}", page.body);
    assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    let page = ask(&collector, "/snippet?site=%7B%7Bbody%7D%7D", "127.0.0.1").await;
    assert!(page.body.contains(r#"name="site" value="{{body}}""#), "{}", page.body);
    ask(&collector, "/snippet.json?site=no", "127.0.0.1").await.refused(403, "unknown_site");
}

#[tokio::test]
async fn an_address_that_is_no_origin_is_refused() {
    let collector = TestCollector::new();
    for wrong in ["javascript:alert(1)", "https://a/b", "https://*.a", "loopback", "//a", "https://a%22b"] {
        let path = format!("/snippet.json?site=demo&collector={wrong}");
        ask(&collector, &path, "127.0.0.1").await.refused(400, "bad_query");
    }
    ask(&collector, "/snippet.json?site=demo", "a\"b").await.refused(400, "bad_query");
}

#[tokio::test]
async fn the_snippet_page_hides_the_key_from_unauthorized_readers() {
    let collector = TestCollector::with(|config| config.tokens = vec![token("ops", "0123456789abcdef0123")]);
    let page = ask(&collector, "/snippet", "rum.example").await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains(r#"name="site" value="""#), "no key is given away: {}", page.body);
    assert!(page.body.contains(r#"value="https://rum.example""#), "{}", page.body);
    ask(&collector, "/snippet.json", "rum.example").await.refused(403, "unknown_site");
    let local = ask(&TestCollector::new(), "/snippet", "localhost:8787").await;
    assert!(local.body.contains(r#"name="site" value="demo""#), "{}", local.body);
    assert!(local.body.contains(r#"value="http://localhost:8787""#), "{}", local.body);
    let json = ask(&TestCollector::new(), "/snippet.json", "localhost:8787").await;
    assert!(
        json.status == 200 && json.body.contains(r#""site":"demo""#) || json.status == 404,
        "{}",
        json.body
    );
}

#[tokio::test]
async fn an_unknown_version_of_the_probe_says_where_the_line_is() {
    let collector = TestCollector::new();
    for path in ["/probe/0123456789abcdef/llm-rum.js", "/probe/..%2f..%2fetc/passwd", "/probe/x/stub.js"] {
        let message = ask(&collector, path, "127.0.0.1").await.refused(404, "not_found");
        assert!(message.contains("/snippet"), "{message}");
    }
}
