//! Reads the query string of a request into the typed parameters of its route. An unknown name is rejected: if it
//! were ignored, the response would look right and be wrong.

use std::collections::BTreeMap;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde_json::{Value, json};

use crate::config::token::AllowedSites;
use crate::http::access_control::Access;
use crate::http::error::{ApiError, Reason};

/// One query parameter, or several that make one value. [`query!`] makes the parameters of a route from them.
pub(crate) trait FromQuery: Sized {
    /// The parameters as OpenAPI parameter objects.
    fn openapi() -> Vec<Value>;

    /// Takes the parameters out of `given` and checks them.
    fn read(given: &mut Given) -> Result<Self, ApiError>;
}

/// A query parameter with one value. Read it as an `Option` if it may be absent without a default.
pub(crate) trait Param: Sized + 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const DEFAULT: Option<&'static str> = None;

    fn accepts() -> Accepts<Self>;
}

/// Accepted values of a parameter.
pub(crate) enum Accepts<T> {
    Words(Vec<(&'static str, T)>),
    /// Whole numbers up to and including `max`, and the value of each.
    Whole {
        min: i64,
        max: i64,
        multiple_of: i64,
        value: fn(i64) -> T,
    },
}

/// Declares the query parameters of a route: a struct whose fields are parameters.
macro_rules! query {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        pub(crate) struct $name { $($field: $kind,)* }

        const _: () = {
            use $crate::api::request::query_string::{FromQuery, Given};

            impl FromQuery for $name {
                fn openapi() -> Vec<serde_json::Value> {
                    [$(<$kind>::openapi(),)*].concat()
                }

                fn read(given: &mut Given) -> Result<Self, ApiError> {
                    Ok(Self { $($field: <$kind>::read(given)?,)* })
                }
            }
        };
    };
}
pub(crate) use query;

/// Extracts the query parameters of a route.
pub(crate) struct Query<Q>(pub(crate) Q);

impl<Q: FromQuery, S: Send + Sync> FromRequestParts<S> for Query<Q> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let pairs = pairs.map_err(|_| bad("the query string cannot be parsed"))?.0;
        let Access { sites, .. } = Access::from_request_parts(parts, state).await?;
        Given::of(pairs, sites).all().map(Self)
    }
}

/// Parameters of a request that are not read yet.
pub(crate) struct Given {
    by_name: BTreeMap<String, Vec<String>>,
    /// The sites that the request may read.
    sites: AllowedSites,
}

impl Given {
    pub(crate) fn of(pairs: impl IntoIterator<Item = (String, String)>, sites: AllowedSites) -> Self {
        let mut by_name = BTreeMap::<String, Vec<String>>::new();
        for (name, value) in pairs {
            by_name.entry(name).or_default().push(value);
        }
        Self { by_name, sites }
    }

    pub(crate) const fn sites(&self) -> &AllowedSites {
        &self.sites
    }

    /// Reads all parameters and rejects every other name.
    pub(crate) fn all<Q: FromQuery>(mut self) -> Result<Q, ApiError> {
        let query = Q::read(&mut self)?;
        match self.by_name.keys().next() {
            Some(name) => Err(bad(format!("unknown parameter `{}`", shorten(name)))),
            None => Ok(query),
        }
    }

    /// The value of a parameter that may be given once.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.texts(name) {
            texts if texts.len() > 1 => Err(bad(format!("parameter `{name}` is given twice"))),
            texts => Ok(texts.into_iter().next()),
        }
    }

    /// The names of all parameters that begin with a text.
    pub(crate) fn names(&self, begin: &str) -> Vec<String> {
        self.by_name.keys().filter(|name| name.starts_with(begin)).cloned().collect()
    }

    /// The values of a parameter that may be given several times.
    pub(crate) fn texts(&mut self, name: &str) -> Vec<String> {
        self.by_name.remove(name).unwrap_or_default()
    }
}

/// No parameters.
impl FromQuery for () {
    fn openapi() -> Vec<Value> {
        Vec::new()
    }

    fn read(_: &mut Given) -> Result<Self, ApiError> {
        Ok(())
    }
}

impl<T: Param> FromQuery for T {
    fn openapi() -> Vec<Value> {
        let mut schema = T::accepts().schema();
        if let Some(default) = T::DEFAULT {
            schema["default"] = T::accepts().json(default);
        }
        vec![parameter(T::NAME, T::ABOUT, &schema)]
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        let text = given.text(T::NAME)?.or_else(|| T::DEFAULT.map(str::to_owned));
        let text = text.ok_or_else(|| bad(format!("parameter `{}` is missing", T::NAME)))?;
        let accepts = T::accepts();
        let expected = accepts.expected();
        accepts.parse(&text).ok_or_else(|| bad(format!("`{}` must be {expected}", T::NAME)))
    }
}

impl<T: Param> FromQuery for Option<T> {
    fn openapi() -> Vec<Value> {
        vec![parameter(T::NAME, T::ABOUT, &T::accepts().schema())]
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        given.by_name.contains_key(T::NAME).then(|| T::read(given)).transpose()
    }
}

impl<T> Accepts<T> {
    pub(crate) fn words(words: impl IntoIterator<Item = (&'static str, T)>) -> Self {
        Self::Words(words.into_iter().collect())
    }

    fn schema(&self) -> Value {
        match self {
            Self::Words(_) => json!({ "type": "string", "enum": self.names() }),
            Self::Whole { min, max, multiple_of, .. } => json!({
                "type": "integer", "minimum": min, "maximum": max, "multipleOf": multiple_of,
            }),
        }
    }

    /// A value as JSON, in the type of the schema.
    fn json(&self, value: &str) -> Value {
        match self {
            Self::Words(_) => value.into(),
            Self::Whole { .. } => value.parse::<i64>().expect("a default is accepted").into(),
        }
    }

    fn parse(self, text: &str) -> Option<T> {
        match self {
            Self::Words(words) => words.into_iter().find(|(word, _)| *word == text).map(|(_, value)| value),
            Self::Whole { min, max, multiple_of, value } => {
                let number = text.parse().ok()?;
                ((min..=max).contains(&number) && number % multiple_of == 0).then(|| value(number))
            }
        }
    }

    /// Completes a sentence that begins with "must be".
    fn expected(&self) -> String {
        match self {
            Self::Words(_) => format!("one of {}", self.names().join(", ")),
            Self::Whole { min, max, multiple_of: 1, .. } => format!("a whole number from {min} to {max}"),
            Self::Whole { min, max, multiple_of, .. } => {
                format!("a multiple of {multiple_of} from {min} to {max}")
            }
        }
    }

    fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Words(words) => words.iter().map(|(word, _)| *word).collect(),
            Self::Whole { .. } => Vec::new(),
        }
    }
}

/// An OpenAPI parameter object.
pub(crate) fn parameter(name: &str, about: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "description": about, "schema": schema })
}

/// Error response for an invalid query.
pub(crate) fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    ApiError::new(Reason::BadQuery, message)
}

pub(crate) fn shorten(name: &str) -> String {
    name.chars().take(40).collect()
}
