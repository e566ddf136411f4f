//! Serves the probe: the files of this binary and those of earlier binaries. Pages name a version and its integrity
//! hash, so earlier versions stay available.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{self, State};
use axum::http::header::REFERER;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use rust_embed::{EmbeddedFile, RustEmbed};
use tracing::warn;

use crate::config::origin::is_loopback_host;
use crate::http::content_encoding::ContentCoding;
use crate::http::error::{ApiError, Reason};
use crate::http::headers::RESOURCE_POLICY;
use crate::http::static_files::{Asset, CACHE_FOREVER, CACHE_ONE_HOUR};

#[derive(RustEmbed)]
#[folder = "../probe-wasm/dist"]
#[allow_missing = true]
struct EmbeddedFiles;

/// One file of the probe, as it is served.
pub(crate) struct ProbeFile(EmbeddedFile);

/// Files that pages request with a version: those of this binary and of earlier ones.
pub(crate) struct ProbeVersions {
    version: String,
    earlier: Vec<ArchivedFile>,
}

/// A file of an earlier binary.
struct ArchivedFile {
    version: String,
    name: &'static str,
    /// `None` if it is not compressed.
    coding: Option<ContentCoding>,
    content: Bytes,
}

/// The probe of this binary, for pages of any origin.
pub(crate) async fn latest(uri: Uri, headers: HeaderMap) -> Response {
    // Pages request it without a version: one hour limits how long an outdated copy is used.
    let (name, cache) = build_for(&headers, uri.path().trim_start_matches('/'), CACHE_ONE_HOUR);
    match Asset::embedded::<EmbeddedFiles>(name, &headers) {
        Some(file) => to_any_page(file.serve(cache, &headers)),
        None => ApiError::new(Reason::NotFound, WITHOUT_PROBE).into_response(),
    }
}

/// The probe of one version, for pages of any origin.
pub(crate) async fn versioned(
    State(probes): State<Arc<ProbeVersions>>,
    extract::Path((version, name)): extract::Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let (build, cache) = build_for(&headers, &name, CACHE_FOREVER);
    // Early versions have no development build.
    let found = probes.find(&version, build, &headers).or_else(|| probes.find(&version, &name, &headers));
    match found {
        Some(asset) => to_any_page(asset.serve(cache, &headers)),
        None => {
            let message =
                "this version of the probe is no longer served: `/snippet` has the current script tag";
            to_any_page(ApiError::new(Reason::NotFound, message).into_response())
        }
    }
}

/// The file for the requested `name`, and its `Cache-Control`. On loopback the script is the development build, which
/// tells a developer each mistake. The normal build has no room for that.
fn build_for<'a>(headers: &HeaderMap, name: &'a str, cache: &'static str) -> (&'a str, &'static str) {
    if name == SCRIPT && is_from_loopback(headers) { (DEVELOPMENT, CACHE_OF_ONE_PAGE) } else { (name, cache) }
}

/// Whether the page that loads the file is on the browser's own machine.
fn is_from_loopback(headers: &HeaderMap) -> bool {
    let referer = headers.get(REFERER).and_then(|referer| referer.to_str().ok());
    let page = referer.and_then(|referer| referer.parse::<Uri>().ok());
    page.is_some_and(|page| {
        matches!(page.scheme_str(), Some("http" | "https"))
            && page.authority().is_some_and(|authority| is_loopback_host(authority.as_str()))
    })
}

fn to_any_page(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    response
}

impl ProbeFile {
    /// `None` if this binary was built without the probe.
    pub(crate) fn get(name: &str) -> Option<Self> {
        EmbeddedFiles::get(name).map(Self)
    }

    /// Hash in the format of an `integrity` attribute and of a content security policy.
    pub(crate) fn integrity(&self) -> String {
        format!("sha256-{}", BASE64_STANDARD.encode(self.0.metadata.sha256_hash()))
    }

    pub(crate) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0.data)
    }
}

impl ProbeVersions {
    /// Archives this binary's files in the data folder for later binaries, and reads the files of earlier
    /// ones.
    pub(crate) fn open(data: &Path) -> Self {
        Self::open_at(data, version().unwrap_or_default())
    }

    fn open_at(data: &Path, version: String) -> Self {
        let folder = data.join(FOLDER);
        // If one of these fails, the collector still does everything else.
        if !version.is_empty()
            && let Err(error) = keep(&folder.join(&version))
        {
            let folder = folder.display();
            warn!(%error, "Cannot keep this version of the probe in `{folder}`; the next start tries again");
        }
        let earlier = read_earlier(&folder, &version).unwrap_or_else(|error| {
            warn!(%error, "Cannot read earlier versions of the probe in `{}`", folder.display());
            Vec::new()
        });
        Self { version, earlier }
    }

    /// Version of this binary's files. It changes with any of them.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    fn find(&self, version: &str, name: &str, asked: &HeaderMap) -> Option<Asset> {
        let name = VERSIONED.into_iter().find(|known| *known == name)?;
        if version == self.version {
            return Asset::embedded::<EmbeddedFiles>(name, asked);
        }
        let forms: Vec<&ArchivedFile> =
            self.earlier.iter().filter(|kept| kept.version == version && kept.name == name).collect();
        let mut taken = ContentCoding::taken(asked).map(Some).chain([None]);
        let kept = taken.find_map(|coding| forms.iter().find(|kept| kept.coding == coding))?;
        // The address identifies the content, so the version can be the ETag.
        let asset = Asset::new(name, kept.content.clone(), format!("\"{version}\""));
        Some(match kept.coding {
            Some(coding) => asset.compressed(coding),
            None => asset,
        })
    }
}

fn version() -> Option<String> {
    let hashes = VERSIONED.map(|name| EmbeddedFiles::get(name).map(|file| file.metadata.sha256_hash()));
    let mut version = String::new();
    for hash in hashes {
        version.extend(hash?[..4].iter().map(|byte| format!("{byte:02x}")));
    }
    Some(version)
}

fn keep(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (_, _, name) in forms() {
        let Some(file) = EmbeddedFiles::get(&name) else { continue };
        // Written atomically: another starting collector may read the file meanwhile.
        let unfinished = folder.join(format!("{name}.part"));
        let written =
            fs::write(&unfinished, &file.data).and_then(|()| fs::rename(&unfinished, folder.join(name)));
        if written.is_err() {
            // The rest of a file takes space on a full disk. If it stays, the next start writes over it.
            let _gone = fs::remove_file(&unfinished);
        }
        written?;
    }
    Ok(())
}

/// Reads the newest earlier versions, and deletes older ones.
fn read_earlier(folder: &Path, current: &str) -> io::Result<Vec<ArchivedFile>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut versions: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let script = path.join(VERSIONED[0]);
        if let Ok(written) = script.metadata().and_then(|script| script.modified()) {
            versions.push((written, path));
        }
    }
    versions.sort_by(|one, other| other.cmp(one));
    for (_, old) in versions.drain(versions.len().min(MAX_VERSIONS)..) {
        if let Err(error) = fs::remove_dir_all(&old) {
            warn!(%error, "Cannot delete an old version of the probe: `{}`", old.display());
        }
    }
    let mut kept = Vec::new();
    for (_, path) in versions {
        let Some(version) = path.file_name().and_then(|name| name.to_str()).filter(|it| *it != current)
        else {
            continue;
        };
        for (name, coding, form) in forms() {
            let path = path.join(form);
            match fs::read(&path) {
                Ok(content) => {
                    let content = content.into();
                    kept.push(ArchivedFile { version: version.to_owned(), name, coding, content });
                }
                // Some versions had fewer files.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    warn!(%error, "Cannot read a file of an earlier probe: `{}`", path.display());
                }
            }
        }
    }
    Ok(kept)
}

/// Every versioned file in each stored coding, with the name under which it is stored.
fn forms() -> impl Iterator<Item = (&'static str, Option<ContentCoding>, String)> {
    VERSIONED.into_iter().flat_map(|name| {
        let compressed = ContentCoding::ALL.map(|coding| (name, Some(coding), coding.of(name)));
        [(name, None, name.to_owned())].into_iter().chain(compressed)
    })
}

/// Files that pages request with a version, and the npm package: npm stores the hash of what it installed.
const VERSIONED: [&str; 6] =
    [SCRIPT, "llm-rum.wasm", "llm-rum-all.wasm", "llm-rum-more.js", "llm-rum.tgz", DEVELOPMENT];
/// The script of the tag, and its development build.
pub(crate) const SCRIPT: &str = "llm-rum.js";
pub(crate) const DEVELOPMENT: &str = "llm-rum-dev.js";
/// Shared caches must not give the development build to other pages. The normal build carries no `Vary: referer`:
/// caches would keep a copy for each page, and a wrong copy on loopback is only silent.
const CACHE_OF_ONE_PAGE: &str = "private, no-cache";
/// One update a week for half a year.
const MAX_VERSIONS: usize = 26;

/// Name of the versions' folder in the data folder.
pub(crate) const FOLDER: &str = "probe";

/// Error message if the binary has no probe.
pub(crate) const WITHOUT_PROBE: &str =
    "this binary was built without the probe: run `cargo xtask build`, then build the binary again";

#[cfg(test)]
mod tests {
    use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};

    use super::*;

    fn from_page(referer: &str) -> HeaderMap {
        HeaderMap::from_iter([(REFERER, HeaderValue::from_str(referer).unwrap())])
    }

    #[test]
    fn only_pages_on_loopback_get_the_development_build() {
        for (referer, name, expected) in [
            ("http://localhost:5173/", SCRIPT, DEVELOPMENT),
            ("https://127.0.0.1/chat?a=1", SCRIPT, DEVELOPMENT),
            ("http://[::1]:8080/", SCRIPT, DEVELOPMENT),
            ("http://localhost/", "llm-rum-more.js", "llm-rum-more.js"),
            ("https://app.example/", SCRIPT, SCRIPT),
            ("https://localhost.app.example/", SCRIPT, SCRIPT),
            ("https://app.example/http://localhost/", SCRIPT, SCRIPT),
            ("capacitor://localhost/", SCRIPT, SCRIPT),
            ("", SCRIPT, SCRIPT),
        ] {
            let (build, cache) = build_for(&from_page(referer), name, CACHE_FOREVER);
            assert_eq!(build, expected, "{name} from `{referer}`");
            // No shared cache may give the development build to another page.
            assert_eq!(cache.starts_with("private"), build == DEVELOPMENT, "{name} from `{referer}`");
        }
        assert_eq!(build_for(&HeaderMap::new(), SCRIPT, CACHE_ONE_HOUR), (SCRIPT, CACHE_ONE_HOUR));
    }

    #[tokio::test]
    async fn an_earlier_version_has_a_build_for_loopback_too() {
        let data = tempfile::tempdir().unwrap();
        leave(data.path(), "000000000000001c", 1);
        leave(data.path(), "000000000000001d", 2);
        fs::remove_file(data.path().join("probe/000000000000001c").join(DEVELOPMENT)).unwrap();
        let probes = Arc::new(ProbeVersions::open(data.path()));
        for (version, referer, expected) in [
            ("000000000000001d", "http://localhost/", "llm-rum-dev.js of 000000000000001d"),
            ("000000000000001d", "https://app.example/", "llm-rum.js of 000000000000001d"),
            ("000000000000001c", "http://localhost/", "llm-rum.js of 000000000000001c"),
        ] {
            let path = extract::Path((version.to_owned(), SCRIPT.to_owned()));
            let response = versioned(State(probes.clone()), path, from_page(referer)).await;
            let body = axum::body::to_bytes(response.into_body(), 1_000).await.unwrap();
            assert_eq!(body, expected.as_bytes(), "{version} from {referer}");
        }
    }

    fn leave(folder: &Path, version: &str, seconds: u64) {
        let at = folder.join("probe").join(version);
        fs::create_dir_all(&at).unwrap();
        for name in VERSIONED {
            let path = at.join(name);
            fs::write(&path, format!("{name} of {version}")).unwrap();
            let written = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
        }
    }

    #[test]
    fn earlier_probe_versions_are_served_and_the_oldest_removed() {
        let data = tempfile::tempdir().unwrap();
        for number in 0..30 {
            leave(data.path(), &format!("{number:016x}"), number);
        }
        fs::remove_file(data.path().join("probe/000000000000001c/llm-rum-more.js")).unwrap();
        let probes = ProbeVersions::open(data.path());
        let has = |version, name| probes.find(version, name, &HeaderMap::new()).is_some();
        assert!(has("000000000000001d", "llm-rum.js"));
        assert!(has("000000000000001d", "llm-rum-more.js"));
        assert!(!has("000000000000001d", "stub.js"));
        assert!(has("000000000000001c", "llm-rum.wasm"));
        assert!(!has("000000000000001c", "llm-rum-more.js"));
        assert!(!has("0000000000000000", "llm-rum.js"));
        assert!(!has("../0000000000000", "llm-rum.js"));
        assert!(fs::read_dir(data.path().join("probe")).unwrap().count() <= MAX_VERSIONS);
    }

    #[test]
    fn earlier_versions_are_served_if_the_current_is_not_kept() {
        let data = tempfile::tempdir().unwrap();
        leave(data.path(), "000000000000001c", 1);
        leave(data.path(), "000000000000001d", 2);
        let (probe, current) = (data.path().join("probe"), "000000000000001e");
        // A file in place of the folder, and a folder in place of a file: neither can be written or read.
        fs::write(probe.join(current), "").unwrap();
        let blocked = probe.join("000000000000001d").join(VERSIONED[1]);
        fs::remove_file(&blocked).unwrap();
        fs::create_dir(&blocked).unwrap();
        let probes = ProbeVersions::open_at(data.path(), current.to_owned());
        let has = |version, name| probes.find(version, name, &HeaderMap::new()).is_some();
        assert!(has("000000000000001c", SCRIPT));
        assert!(has("000000000000001c", VERSIONED[1]));
        assert!(has("000000000000001d", SCRIPT));
        assert!(!has("000000000000001d", VERSIONED[1]));
    }

    #[test]
    fn an_earlier_file_is_served_in_its_stored_coding() {
        let data = tempfile::tempdir().unwrap();
        leave(data.path(), "000000000000001c", 1);
        fs::write(data.path().join("probe/000000000000001c/llm-rum.js.br"), "by brotli").unwrap();
        let probes = ProbeVersions::open(data.path());
        for (name, asked, coding) in [
            ("llm-rum.js", "gzip, br", Some("br")),
            ("llm-rum.js", "gzip", None),
            ("llm-rum.wasm", "gzip, br", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(asked));
            let response =
                probes.find("000000000000001c", name, &headers).unwrap().serve(CACHE_FOREVER, &headers);
            let encoding = response.headers().get(CONTENT_ENCODING).map(|coding| coding.to_str().unwrap());
            assert_eq!(encoding, coding, "{name} for {asked}");
            assert_eq!(response.headers()[VARY], "accept-encoding");
        }
    }
}
