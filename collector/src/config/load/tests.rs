//! Messages about files with and without mistakes.

use super::*;
use crate::config::token::Scope;

fn mistakes_in(text: &str, environment: &[(&str, &str)]) -> Vec<String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    match Draft::parse(text, environment.iter().map(owned)).finish() {
        Ok(_) => Vec::new(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    }
}

#[test]
fn an_empty_configuration_is_valid() {
    assert_eq!(mistakes_in("", &[]), [""; 0]);
    assert_eq!(mistakes_in("", &[("PATH", "/bin"), ("LLM_RUM_UPSTREAM_KEY", "k")]), [""; 0]);
}

#[test]
fn a_mistake_has_its_line_and_its_remedy() {
    let site = |rest: &str| format!("[[sites]]\nname = 'a'\n{rest}\norigins = ['loopback']");
    for (text, expected) in [
        ("listen = '0.0.0.0:1'".to_owned(), "configuration:1: `listen` is not a loopback address"),
        (
            "data = ''".to_owned(),
            "configuration:1: `data` is empty, which means the working directory of the collector",
        ),
        ("lisen = '127.0.0.1:1'".to_owned(), "configuration:1: `lisen` is not a known field: write `listen`"),
        (
            "colour = 1".to_owned(),
            "configuration:1: `colour` is not a known field: remove it; known fields are `listen`",
        ),
        (
            "[journal]\nsync = 'always'".to_owned(),
            "configuration:2: `journal.sync` is not valid: unknown variant `always`: write `full` or `normal`",
        ),
        ("[limits]\n\nmodels = 0".to_owned(), "configuration:3: `limits.models` is 0: write a whole number"),
        (
            "[limits]\nmodels = 'many'".to_owned(),
            "configuration:2: `limits.models` is not valid: invalid type: string \"many\": write a whole number",
        ),
        (
            "settle_after_seconds = 1800".to_owned(),
            "configuration:1: `settle_after_seconds` is not shorter than",
        ),
        (
            "[store]\nhistory_days = 1".to_owned(),
            "configuration:2: `store.history_days` is shorter than `store.windows_hours`",
        ),
        (
            "reading_speeds = [5, 0]".to_owned(),
            "configuration:1: `reading_speeds` has a speed that is not above 0",
        ),
        ("sites = []".to_owned(), "configuration:1: `sites` is empty"),
        (
            site("keys = ['k', 'k']"),
            "configuration:3: `sites[0].keys` contains the key `k`, which is used twice",
        ),
        (site("keys = ['a b']"), "configuration:3: `sites[0].keys` is not valid in a URL"),
        (site("keys = []"), "configuration:3: `sites[0].keys` is empty"),
        (site(""), "configuration:1: `sites[0]` has no `keys`: add it"),
        (
            site("keys = ['k']\nrate = { per_second = 0 }"),
            "configuration:4: `sites[0].rate` has a `per_second`",
        ),
        (
            "[[sites]]\nname = 'a'\nkeys = ['k']\norigins = [\n'loopback',\n'app.example']".to_owned(),
            "configuration:6: `sites[0].origins[1]` is not valid: `app.example` is not a valid origin",
        ),
        (
            "[targets.chat]\nttft_p95_ms = -1".to_owned(),
            "configuration:2: `targets.chat.ttft_p95_ms` is not a valid target",
        ),
        (
            "[ingest]\nproxies = ['10.0.0.0/99']".to_owned(),
            "configuration:2: `ingest.proxies[0]` is not valid: `10.0.0.0/99` is not a valid address",
        ),
        (
            "[ingest]\nclient_header = 'x-forwarded-for'".to_owned(),
            "configuration:2: `ingest.client_header` has no effect without",
        ),
        (
            "listen = 'localhost:1'".to_owned(),
            "configuration:1: `listen` is not a valid address: write one with its port",
        ),
        (
            "[journal]\nsync = true".to_owned(),
            "configuration:2: `journal.sync` is not text: write one of the words",
        ),
        (
            "[sites]\nname = 'a'".to_owned(),
            "configuration:1: `sites` is a table, not a list: write `[[sites]]`",
        ),
        (
            "[[sites]]\nname = 'a'\nkeys = ['k']\norigins = []".to_owned(),
            "configuration:4: `sites[0].origins` is empty, so no page can send: write",
        ),
        (
            "[ingest]\nclient_header = 'x forwarded'".to_owned(),
            "configuration:2: `ingest.client_header` is not valid: it is not a header name: write one such as",
        ),
        (
            "[ingest]\nproxies = ['10.0.0.0/8']\nclient_header = 'Forwarded'".to_owned(),
            "configuration:3: `ingest.client_header` has its own syntax (RFC 7239), which the \
             collector does not read: name",
        ),
        (
            "[ingest]\nnotice_seconds = 601".to_owned(),
            "configuration:2: `ingest.notice_seconds` is more than 600 seconds: write",
        ),
        (
            "[ingest]\nconnections = 9223372036854775807".to_owned(),
            "configuration:2: `ingest.connections` is more than 1000000: write",
        ),
        (
            "[ingest]\nbody_bytes = 20000000".to_owned(),
            "configuration:1: `ingest.queue_bytes` is less than `ingest.body_bytes`",
        ),
        (
            "[otlp]\nendpoint = 'http://127.0.0.1:4318/v1/metrics'".to_owned(),
            "configuration:2: `otlp.endpoint` ends with the path that the collector appends: write",
        ),
        (
            "[otlp]\nendpoint = 'http://'".to_owned(),
            "configuration:2: `otlp.endpoint` is not a valid address: write",
        ),
        (
            "[otlp.headers]\nauthorization = \"a\\nb\"".to_owned(),
            "configuration:2: `otlp.headers.authorization` is not a valid header value",
        ),
        (
            "[models]\n'gpt*mini' = 'gpt'".to_owned(),
            "configuration:2: `models.gpt*mini` is not a valid alias: write",
        ),
        (
            "[models]\n'gpt-5**' = 'gpt'".to_owned(),
            "configuration:2: `models.gpt-5**` is not a valid alias: write",
        ),
        (
            "[models]\n'models/*' = 'gemini'".to_owned(),
            "configuration:2: `models.models/*` is not a valid alias: write",
        ),
        (
            "[models]\n'gemini-*' = 'a'\n'models/gemini-*' = 'b'".to_owned(),
            "configuration:3: `models.models/gemini-*` is the same as `gemini-*`, because",
        ),
        (
            "[targets.chat]\nttft_p50_ms = 1900\nttft_p99_ms = 1800".to_owned(),
            "configuration:2: `targets.chat.ttft_p50_ms` is greater than `ttft_p99_ms`, the target of \
             a higher percentile",
        ),
        (
            "[targets.chat]\nttft_p50_ms = 3000".to_owned(),
            "configuration:2: `targets.chat.ttft_p50_ms` is greater than `ttft_p95_ms`, which is 2000 by \
             default: lower it, or set",
        ),
        (
            site("keys = ['k']\ntargets.x.e2e_p95_ms = 8000") + "\n[targets.x]\ne2e_p99_ms = 7000",
            "configuration:4: `sites[0].targets.x.e2e_p95_ms` is greater than `e2e_p99_ms`, which is 7000 by default",
        ),
        ("a = = 1".to_owned(), "configuration:1: the file is not valid TOML"),
    ] {
        let found = mistakes_in(&text, &[]);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{text}\nexpected {expected}\nsaid {found:#?}"
        );
    }
}

fn tokens(second: &str) -> String {
    format!(
        "[[sites]]\nname = 'shop'\nkeys = ['k']\norigins = ['loopback']\n\
         [[tokens]]\nname = 'first'\ntoken = 'fedcba9876543210'\n[[tokens]]\nname = 'second'\n{second}"
    )
}

#[test]
fn a_mistake_about_access_has_its_line_and_remedy() {
    let good = "token = '0123456789abcdef'";
    for (second, expected) in [
        ("token = 'short'".to_owned(), "10: `tokens[1].token` is shorter than 16 bytes: generate"),
        (
            "token = 'change-me-before-the-first-start'".to_owned(),
            "10: `tokens[1].token` is the public value",
        ),
        ("token = \"0123456789abcdef\\n\"".to_owned(), "10: `tokens[1].token` is not visible ASCII only"),
        ("token = 'fedcba9876543210'".to_owned(), "10: `tokens[1].token` is the same as that of another"),
        ("scopes = ['read']".to_owned(), "8: `tokens[1]` has no `token`: add it"),
        (format!("{good}\nscopes = []"), "11: `tokens[1].scopes` is empty"),
        (
            format!("{good}\nscopes = ['write']"),
            "11: `tokens[1].scopes[0]` is not valid: unknown variant `write`: write one of `read`, `metrics`, `markers`",
        ),
        (format!("{good}\nsites = []"), "11: `tokens[1].sites` is empty"),
        (
            format!("{good}\nsites = ['shop', 'shpo']"),
            "11: `tokens[1].sites` names `shpo`, which is not the name of a site: write",
        ),
        (
            format!("{good}\nsites = ['shop']\nscopes = ['read', 'metrics']"),
            "11: `tokens[1].sites` cannot limit the scope `metrics`: `/metrics` covers all sites: remove",
        ),
        (format!("{good}\nsite = ['shop']"), "11: `tokens[1].site` is not a known field: write `sites`"),
    ] {
        check_lines(&tokens(&second), &[expected]);
    }
    let proxied = "[ingest]\nproxies = ['10.0.0.1']\nclient_header = 'x-a'\n[auth_proxy]\n";
    for (text, expected) in [
        ("[auth_proxy]\nheader = 'x-user'", "2: `auth_proxy.header` has no effect without `ingest.proxies`"),
        (
            &format!("{proxied}header = 'X-A'"),
            "5: `auth_proxy.header` is also `ingest.client_header`, which every",
        ),
        (&format!("{proxied}header = 'x a'"), "5: `auth_proxy.header` is not valid: it is not a header name"),
    ] {
        check_lines(text, &[expected]);
    }
    check_lines(&format!("listen = '0.0.0.0:1'\n{proxied}header = 'x-user'"), &[]);
    let twice = tokens(good).replace("'second'", "'first'");
    check_lines(&twice, &["9: `tokens[1].name` is the name of two tokens: give"]);
    check_lines(&tokens(&format!("{good}\nsites = ['shop']\nscopes = ['read']")), &[]);
    check_lines("[server]\nhash_key = 'short'", &["2: `server.hash_key` is shorter than 16 bytes: generate"]);
    check_lines("[server]\nwait_seconds = 0", &["2: `server.wait_seconds`"]);
    let open = "[server]\nwithout_token = true\n";
    check_lines(open, &[]);
    let found = "2: `server.without_token` has no effect where readers sign in: remove it";
    check_lines(&format!("{open}[[tokens]]\nname = 'a'\ntoken = '0123456789abcdef'"), &[found]);
}

#[test]
fn a_configuration_file_that_is_not_utf8_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (bytes, line) in [(&b"listen = '127.0.0.1:1'\nx = '\xff'"[..], 2), (b"\xff\xfel\0i\0", 1)] {
        fs::write(file.path(), bytes).unwrap();
        let error = Draft::read(Some(file.path()), std::iter::empty()).unwrap().finish().unwrap_err();
        let expected =
            format!("{}:{line}: the file is not valid UTF-8: save it as UTF-8", file.path().display());
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = "lisen = 1\n[journal]\nsync = 7\n[ingest]\nbody_bytes = -1\nhead_seconds = 0\n[limits]\nmodels = 0\nmodles = 3\n[[sites]]\nname = 'a b'\nkeys = ['k']\norigins = ['x']\ncolour = 'red'";
    let lines: Vec<_> =
        mistakes_in(text, &[]).iter().map(|found| found.split(':').nth(1).unwrap().to_owned()).collect();
    assert_eq!(lines, ["1", "3", "5", "6", "8", "9", "11", "13", "14"], "{:#?}", mistakes_in(text, &[]));
}

fn check_lines(text: &str, expected: &[&str]) {
    let found = mistakes_in(text, &[]);
    let fits = |(found, expected): (&String, &&str)| found.starts_with(&format!("configuration:{expected}"));
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(fits),
        "{text}\nexpected {expected:#?}\nsaid {found:#?}"
    );
}

#[test]
fn an_unreadable_value_hides_no_other_mistake() {
    let site =
        "\n[[sites]]\nkeys = 'k'\norigins = ['loopback', 'app', 'app.example']\nuse_case = 'a b'\nsample = 2";
    check_lines(
        &format!("[limits]\nmodles = 5\nmodels = 'many'\nseries = 0\n[slo]\ndays = 0{site}"),
        &[
            "2: `limits.modles` is not a known field: write `models`",
            "3: `limits.models` is not valid",
            "4: `limits.series` is 0",
            "6: `slo.days` is 0",
            "7: `sites[0]` has no `name`: add it",
            "8: `sites[0].keys` is not valid",
            "9: `sites[0].origins[1]` is not valid: `app` is not a valid origin",
            "9: `sites[0].origins[2]` is not valid: `app.example` is not a valid origin",
            "10: `sites[0].use_case` is not valid in a URL",
            "11: `sites[0].sample` is not a valid share",
        ],
    );
    check_lines(
        "[models]\n'gpt-4.1*' = 4\n'*' = 'all'",
        &["2: `models.gpt-4.1*` is not valid", "3: `models.*` is not a valid alias"],
    );
    check_lines(
        "[store.clickhouse]\nuser = ''\n[country]\nlook_seconds = 0",
        &[
            "1: `store.clickhouse` has no `url`",
            "2: `store.clickhouse.user` is not a valid user name",
            "4: `country.look",
        ],
    );
}

#[test]
fn a_default_for_an_unreadable_value_is_no_mistake() {
    for text in [
        "listen = '0.0.0.0:1'\ntokens = 5",
        "listen = '0.0.0.0:1'\ntokns = [{ name = 'ops', token = '0123456789abcdef' }]",
        "[[tokens]]\nname = 'ops'\ntoken = 5",
        "sites = [5]\n[[tokens]]\nname = 'ops'\ntoken = '0123456789abcdef'\nsites = ['shop']",
        "[ingest]\nbody_bytes = '1000'\nqueue_bytes = 5000",
        "[ingest]\nclient_header = 'x-a'\nproxies = ['a']",
        "settle_after_seconds = 2000\n[dedupe]\nminutes = '60'",
        "[targets.chat]\nttft_p50_ms = 3000\nttft_p95_ms = '4000'",
        "[targets.chat]\nttft_p95_ms = '4000'\n[[sites]]\nname = 'a'\nkeys = ['k']\norigins = ['loopback']\n\
         targets.chat.ttft_p50_ms = 3000",
        "sites = [{ nam = 'a', keys = ['k'], origins = ['loopback'] }]",
        "sites = [{ name = 'a', keys = [5], origins = ['loopback'] }]",
        "sites = [5]",
        "[store.clickhouse]\nurl = 5",
    ] {
        let found = mistakes_in(text, &[]);
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
    }
}

#[test]
fn a_list_index_stays_right_after_an_earlier_wrong_item() {
    let good = "keys = ['k'], origins = ['loopback']";
    check_lines(
        &format!("sites = [\n5,\n{{ name = 'a b', {good} }},\n'x',\n{{ name = 'c', {good}, sample = 3 }}]"),
        &[
            "2: `sites[0]` is not valid",
            "3: `sites[1].name` is not valid in a URL",
            "4: `sites[2]` is not valid",
            "5: `sites[3].keys` contains the key `k`",
            "5: `sites[3].sample` is not a valid share",
        ],
    );
    check_lines(
        "tokens = [\n4242,\n{ name = 'ops', token = 'short' }]",
        &["2: `tokens[0]` is not a list of tables", "3: `tokens[1].token` is shorter"],
    );
}

#[test]
fn a_default_beside_a_shorter_target_is_no_mistake() {
    assert_eq!(mistakes_in("[targets.chat]\nttft_p95_ms = 800", &[]), [""; 0]);
}

#[test]
fn the_environment_overrides_the_file() {
    let environment = [
        ("LLM_RUM__LISTEN", "127.0.0.1:99"),
        ("LLM_RUM__TOKENS", "[{ name = 'ops', token = '12345678901234567890', scopes = ['metrics'] }]"),
        ("LLM_RUM__INGEST__BODY_BYTES", "1000"),
        ("LLM_RUM__JOURNAL__SYNC", "normal"),
        ("LLM_RUM__SITES", "[{ name = 'a', keys = ['k'], origins = ['loopback'] }]"),
    ];
    let owned = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config =
        Draft::parse("[ingest]\nbody_bytes = 5\nbody_seconds = 7", owned.into_iter()).finish().unwrap();
    assert_eq!(config.listen.port(), 99);
    assert_eq!(config.tokens[0].token.bytes(), b"12345678901234567890");
    assert_eq!(config.tokens[0].scopes, [Scope::Metrics]);
    assert_eq!((config.ingest.body_bytes, config.ingest.body_seconds), (1000, 7));
    assert_eq!(config.journal.sync, crate::Sync::Normal);
    assert_eq!(config.sites[0].name, "a");
}

#[test]
fn a_mistake_in_the_environment_names_its_variable() {
    for (name, value, expected) in [
        ("LLM_RUM__LISEN", "1", "LLM_RUM__LISEN: `lisen` is not a known field: write `listen`"),
        ("LLM_RUM__LIMITS__MODELS", "0", "LLM_RUM__LIMITS__MODELS: `limits.models` is 0"),
        ("LLM_RUM__LIMITS__MODELS", "many", "LLM_RUM__LIMITS__MODELS: `limits.models` is not valid"),
        ("LLM_RUM__LISTEN__PORT", "1", "LLM_RUM__LISTEN__PORT: `listen.port` is inside"),
        ("LLM_RUM__SITES", "[{ name = 'a', keys = ['k'] }]", "LLM_RUM__SITES: `sites[0]` has no `origins`"),
    ] {
        let found = mistakes_in("listen = '127.0.0.1:1'", &[(name, value)]);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{name}: {found:#?}");
    }
}

#[test]
fn a_secret_of_digits_is_text_in_the_environment() {
    let environment = [
        ("LLM_RUM__STORE__CLICKHOUSE__URL", "http://clickhouse:8123"),
        ("LLM_RUM__STORE__CLICKHOUSE__PASSWORD", "123456789"),
        ("LLM_RUM__OTLP__HEADERS__AUTHORIZATION", "987654321"),
    ];
    let owned = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Draft::parse("", owned.into_iter()).finish().unwrap();
    assert_eq!(config.store.clickhouse.unwrap().password, Some("123456789".into()));
    assert_eq!(config.otlp.headers["authorization"], "987654321".into());
}

#[test]
fn a_name_of_digits_is_text_in_the_environment() {
    let environment = [
        ("LLM_RUM__DATA", "123"),
        ("LLM_RUM__OTLP__INSTANCE", "7"),
        ("LLM_RUM__MODELS__2026", "2026-11-23"),
        ("LLM_RUM__STORE__CLICKHOUSE__URL", "http://clickhouse:8123"),
        ("LLM_RUM__STORE__CLICKHOUSE__DATABASE", "true"),
        ("LLM_RUM__STORE__CLICKHOUSE__USER", "4.5"),
        ("LLM_RUM__INGEST__BODY_BYTES", "1000"),
    ];
    let owned = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Draft::parse("", owned.into_iter()).finish().unwrap();
    let clickhouse = config.store.clickhouse.unwrap();
    assert_eq!((config.data, config.otlp.instance), (PathBuf::from("123"), "7".to_owned()));
    assert_eq!(config.models["2026"], "2026-11-23");
    assert_eq!((clickhouse.database.as_str(), clickhouse.user.as_str()), ("true", "4.5"));
    assert_eq!(config.ingest.body_bytes, 1000);
    for (name, value, expected) in [
        (
            "LLM_RUM__LIMITS__MODELS",
            "-1",
            "`limits.models` is not valid: invalid value: integer `-1`: write a whole",
        ),
        ("LLM_RUM__JOURNAL__SYNC", "1", "`journal.sync` is not text: write one of the words"),
        ("LLM_RUM__TOKENS", "42", "`tokens` is not a list of tables: write `[[tokens]]`"),
        ("LLM_RUM__STORE__CLICKHOUSE__USER", "7", "`store.clickhouse` has no `url`: add it"),
    ] {
        let found = mistakes_in("", &[(name, value)]);
        assert!(found.len() == 1 && found[0].contains(expected), "{name}: {found:#?}");
    }
}

#[test]
fn an_invalid_secret_is_not_shown() {
    for (text, expected) in [
        ("[[tokens]]\nname = 'a'\ntoken = 4242424242", "`tokens[0].token` is not text: put it in quotes"),
        ("tokens = [4242424242]", "`tokens[0]` is not a list of tables: write `[[tokens]]`"),
        ("tokens = ['4242424242']", "`tokens[0]` is not a list of tables: write `[[tokens]]`"),
        ("tokens = 4242424242", "`tokens` is not a list of tables: write `[[tokens]]`"),
        ("tokens = '4242424242'", "`tokens` is not a list of tables: write `[[tokens]]`"),
        (
            "[store.clickhouse]\nurl = 'http://a'\npassword = 4242424242",
            "`store.clickhouse.password` is not text: put it in quotes",
        ),
        ("[otlp.headers]\na = 4242424242", "`otlp.headers.a` is not text: put it in quotes"),
        ("[otlp]\nheaders = 'Bearer 4242424242'", "`otlp.headers` is not a table: write it as"),
    ] {
        let found = mistakes_in(text, &[]);
        assert!(found.len() == 1 && found[0].contains(expected), "{text}: {found:#?}");
        assert!(!found[0].contains("4242"), "{found:#?}");
    }
}

#[test]
fn a_token_is_not_shown() {
    for name in ["LLM_RUM__TOKENS", "LLM_RUM__TOKENS__OPS", "LLM_RUM__ADMIN_TOKEN"] {
        let found = mistakes_in("", &[(name, "secret-secret-secret")]);
        assert!(!found.is_empty() && !found.concat().contains("secret-secret"), "{found:#?}");
    }
    let config = Draft::parse(&tokens("token = '0123456789abcdef'"), std::iter::empty()).finish().unwrap();
    assert!(!format!("{config:?}").contains("0123456789abcdef"));
}

#[test]
fn a_remedy_uses_the_words_of_the_file() {
    let site = "[[sites]]\nname = 'a'\nkeys = ['k']\norigins = ['loopback']\n";
    let sections = [
        ("", "listen data tokens settle_after_seconds journal sites models targets reading_speeds"),
        ("[[tokens]]\nname = 'a'\ntoken = '0123456789abcdef'\n", "scopes sites"),
        ("[journal]\n", "sync wait_seconds"),
        ("[ingest]\n", "body_bytes network_rate network_rate.burst trust_loopback proxies client_header"),
        ("[store.clickhouse]\nurl = 'http://a'\n", "user password publish_seconds"),
        ("[auth_proxy]\n", "header"),
        ("[targets.chat]\n", "ttft_p50_ms speed"),
        ("[otlp]\n", "endpoint headers headers.a every_seconds temporality names instance"),
        ("[country]\n", "header mmdb"),
        (site, "use_case rate sample filters filters.bots filters.own_tests targets targets.chat"),
    ];
    for (section, names) in sections {
        for name in names.split(' ') {
            for value in ["5", "-1", "1.5", "true", "'a b'", "[[]]", "{ a = 1 }", "2026-01-01"] {
                for line in mistakes_in(&format!("{section}{name} = {value}"), &[]) {
                    let (_, remedy) = line.rsplit_once(": ").unwrap();
                    let is_of_serde = |word: &str| {
                        ["struct", "string", "sequence", "map", "boolean", "usize", "u32", "f64"]
                            .contains(&word)
                    };
                    assert!(!remedy.split(' ').any(is_of_serde), "{line}");
                    assert!(!line.contains("type: map") && !line.contains("type: sequence"), "{line}");
                }
            }
        }
    }
    for (text, expected) in [
        ("data = 5", "1: `data` is not valid: invalid type: integer `5`: write text in quotes"),
        (
            "journal = 5",
            "1: `journal` is not valid: invalid type: integer `5`: write a table with the fields in",
        ),
        ("[limits]\nmodels = []", "2: `limits.models` is not valid: it is a list: write a whole number"),
        (
            "[journal]\nsync = {}",
            "2: `journal.sync` is not text: write one of the words in docs/configuration.md, in quotes",
        ),
    ] {
        check_lines(text, &[expected]);
    }
}
