//! Imports between the files of a Rust crate: `use`, and paths in code. A name leads to the file that defines it,
//! through every `pub use` that passes it on. To pass a name on without using it is no import. Modules under
//! `#[cfg(test)]` are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::import::Import;

/// All imports between the files of the crate whose first file is `main`.
pub(super) fn imports(root: &Path, main: &Path) -> Result<Vec<Import>> {
    let mut modules = Modules(Vec::new());
    modules.read(main, 0, main.parent().context("the file of a crate is in a folder")?)?;
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
    let mut imports = Vec::new();
    for (at, module) in modules.0.iter().enumerate() {
        for Mention { names, line, kind } in &module.mentions {
            let prefix = match kind {
                Kind::PassedOn(alias) if !module.words.contains(alias) => continue,
                Kind::InCode => "",
                _ => "use ",
            };
            let to = &modules.0[modules.find(at, names, 0)].file;
            if *to != module.file {
                let text = format!("{prefix}{}", names.join("::"));
                imports.push(Import { from: relative(&module.file), to: relative(to), line: *line, text });
            }
        }
    }
    Ok(imports)
}

/// The modules of a crate; the first is its root.
struct Modules(Vec<Module>);

struct Module {
    file: PathBuf,
    parent: usize,
    children: BTreeMap<String, usize>,
    /// What `use` brings in: the path of each name.
    aliases: BTreeMap<String, Vec<String>>,
    mentions: Vec<Mention>,
    /// The first name of every path in code.
    words: BTreeSet<String>,
}

/// A path in the text of a module.
struct Mention {
    names: Vec<String>,
    line: usize,
    kind: Kind,
}

enum Kind {
    InCode,
    Used,
    /// By `pub use`, under this name.
    PassedOn(String),
}

/// `::` is one token, and so is each bracket.
struct Token {
    text: String,
    line: usize,
}

impl Modules {
    /// Reads the file of a module, and the files of its children from the folder `inside`.
    fn read(&mut self, file: &Path, parent: usize, inside: &Path) -> Result<usize> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let stream: TokenStream = match text.parse() {
            Ok(stream) => stream,
            Err(error) => bail!("{} is not valid Rust: {error}", file.display()),
        };
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        let module = self.add(file, parent);
        self.walk(&tokens, module, inside)?;
        Ok(module)
    }

    fn add(&mut self, file: &Path, parent: usize) -> usize {
        let (children, aliases, mentions, words) = Default::default();
        self.0.push(Module { file: file.to_owned(), parent, children, aliases, mentions, words });
        self.0.len() - 1
    }

    fn walk(&mut self, tokens: &[Token], module: usize, inside: &Path) -> Result<()> {
        let (mut at, mut attributes, mut is_public) = (0, String::new(), false);
        while let rest @ [first, ..] = &tokens[at..] {
            let text = |ahead: usize| rest.get(ahead).map_or("", |token| &token.text);
            if (text(0), text(1)) == ("#", "[") {
                let length = 1 + length_of_group(&rest[1..]);
                attributes.extend(rest[..length].iter().map(|token| token.text.as_str()));
                at += length;
                continue;
            }
            if text(0) == "pub" {
                is_public = true;
                at += if text(1) == "(" { 1 + length_of_group(&rest[1..]) } else { 1 };
                continue;
            }
            at += match (text(0), text(1), text(2)) {
                _ if attributes.contains("[cfg(test)]") => length_of_item(rest),
                ("mod", name, ";") => {
                    let child = self.read_child(name, &attributes, module, inside)?;
                    self.0[module].children.insert(name.to_owned(), child);
                    3
                }
                ("mod", name, "{") => {
                    let length = 2 + length_of_group(&rest[2..]);
                    let child = self.add(&self.0[module].file.clone(), module);
                    self.0[module].children.insert(name.to_owned(), child);
                    self.walk(&rest[3..length - 1], child, &inside.join(name))?;
                    length
                }
                ("use", next, _) if next != "<" => {
                    let length = rest.iter().take_while(|token| token.text != ";").count();
                    self.add_use(&rest[1..length], module, is_public, &[]);
                    length
                }
                _ => {
                    let (names, length) = path(rest);
                    self.0[module].words.extend(names.first().cloned());
                    if names.len() > 1 {
                        self.0[module].mentions.push(Mention { names, line: first.line, kind: Kind::InCode });
                    }
                    length
                }
            };
            attributes.clear();
            is_public = false;
        }
        Ok(())
    }

    fn read_child(&mut self, name: &str, attributes: &str, parent: usize, inside: &Path) -> Result<usize> {
        let named = attributes.split_once("[path=\"").and_then(|(_, path)| path.split('"').next());
        if let Some(path) = named {
            let file = self.0[parent].file.with_file_name(path);
            return self.read(&file, parent, file.parent().unwrap_or(inside));
        }
        let (beside, within) = (inside.join(format!("{name}.rs")), inside.join(name).join("mod.rs"));
        let file = if within.exists() { within } else { beside };
        self.read(&file, parent, &inside.join(name))
    }

    /// Adds each path of what is between `use` and its semicolon.
    fn add_use(&mut self, tokens: &[Token], module: usize, is_public: bool, before: &[String]) {
        let mut rest = tokens;
        while let [first, ..] = rest {
            let (mut names, length) = path(rest);
            names.splice(0..0, before.iter().cloned());
            let line = first.line;
            rest = &rest[length.min(rest.len())..];
            if let [brace, ..] = rest
                && brace.text == "{"
            {
                let length = length_of_group(rest);
                self.add_use(&rest[1..length - 1], module, is_public, &names);
                rest = &rest[length..];
                names.clear();
            }
            let end = rest.iter().take_while(|token| token.text != ",").count();
            let (after, next) = rest.split_at(end);
            rest = next.get(1..).unwrap_or_default();
            if names.len() > 1 {
                names.pop_if(|name| name == "self");
                let alias = match after {
                    [word, alias] if word.text == "as" => &alias.text,
                    _ => &names[names.len() - 1],
                };
                let alias = alias.clone();
                let module = &mut self.0[module];
                module.aliases.insert(alias.clone(), names.clone());
                let kind = if is_public { Kind::PassedOn(alias) } else { Kind::Used };
                module.mentions.push(Mention { names, line, kind });
            }
        }
    }

    /// The module that defines what `names` lead to from `module`, or `module` if that is in another crate.
    fn find(&self, module: usize, names: &[String], aliases: usize) -> usize {
        let mut at = module;
        for (depth, name) in names.iter().enumerate() {
            let Module { parent, children, aliases: here, .. } = &self.0[at];
            match (name.as_str(), children.get(name), here.get(name)) {
                ("crate", ..) => at = 0,
                ("super", ..) => at = *parent,
                ("self", ..) => {}
                (_, Some(child), _) => at = *child,
                (_, None, Some(path)) if aliases < MOST_ALIASES => {
                    let path = [path, &names[depth + 1..]].concat();
                    return self.find(at, &path, aliases + 1);
                }
                _ => return at,
            }
        }
        at
    }
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut trees = stream.into_iter();
    while let Some(tree) = trees.next() {
        let line = tree.span().start().line;
        let text = match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(Token { text: open.to_owned(), line });
                flatten(group.stream(), tokens);
                close.to_owned()
            }
            TokenTree::Punct(first) if first.as_char() == ':' && first.spacing() == Spacing::Joint => {
                trees.next().map_or_else(String::new, |second| format!(":{second}"))
            }
            other => other.to_string(),
        };
        tokens.push(Token { text, line });
    }
}

/// How many tokens the group has that begins here, with its brackets.
fn length_of_group(tokens: &[Token]) -> usize {
    let mut depth = 0;
    let is_last = |token: &Token| {
        match token.text.as_str() {
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    tokens.iter().position(is_last).map_or(tokens.len(), |last| last + 1)
}

/// How many tokens the item has that begins here: it ends with a semicolon or a block.
fn length_of_item(tokens: &[Token]) -> usize {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            ";" => return at + 1,
            "{" => return at + length_of_group(&tokens[at..]),
            _ => at += length_of_group(&tokens[at..]),
        }
    }
    at
}

/// The names of the path that begins here, and how many tokens it has. A path that begins with `::` leads to
/// another crate, or into a type: it has no names.
fn path(tokens: &[Token]) -> (Vec<String>, usize) {
    let is_name = |token: &&Token| {
        token.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && token.text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let (mut names, mut at) = (Vec::new(), 0);
    while let Some(name) = tokens.get(at).filter(is_name) {
        names.push(name.text.clone());
        at += 1;
        match tokens.get(at) {
            Some(colons) if colons.text == "::" => at += 1,
            _ => break,
        }
    }
    match tokens.first() {
        Some(colons) if colons.text == "::" => (Vec::new(), 1 + path(&tokens[1..]).1),
        _ => (names, at.max(1)),
    }
}

/// Files pass names on a few times at most; a circle of aliases ends here.
const MOST_ALIASES: usize = 16;
