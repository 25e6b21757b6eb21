//! Where tools work, and what a call of one may know.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::bound::{Bounded, Keeping, Paths, Policy, Sink, Summarizer};
use crate::error::Error;
use crate::journal::{Journal, Record};
use crate::notice::{Lang, Outcome};
use crate::settings::{Client, Effective, Settings};
use crate::smart::Salience;
use crate::store::{SpillId, Store};

use super::Answer;

/// Where tools work: a root, its settings and its store, and what the agent has that calls them.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
    cwd: String,
    settings: Settings,
    store: Arc<Store>,
    paths: Paths,
    unsaved: Option<String>,
    task: Option<String>,
    program: Option<String>,
    /// What the agent searches and reads with, if it is not what every agent has.
    tools: Option<[Option<String>; 2]>,
    summarizer: Option<Arc<dyn Summarizer>>,
    cancelled: Arc<AtomicBool>,
    journal: Option<Arc<dyn Journal>>,
    cache: Option<PathBuf>,
}

impl Host {
    /// Returns a host for tools that work below `root`, an absolute path without links. Nothing is touched before a call.
    pub fn new(root: &Path, settings: Settings) -> Host {
        let effective = settings.effective("");
        Host {
            root: root.to_owned(),
            cwd: ".".to_owned(),
            store: Arc::new(Store::new(
                root,
                &effective.store_dir(),
                effective.retention(),
            )),
            settings,
            paths: Paths::Relative,
            unsaved: None,
            task: None,
            program: None,
            tools: None,
            summarizer: None,
            cancelled: Arc::default(),
            journal: None,
            cache: None,
        }
    }

    /// Says which client gets the answers, if it is a known one: where the user set no limit they stay below its own cut.
    pub fn for_client(self, client: Option<&'static Client>) -> Host {
        Host {
            settings: self.settings.for_client(client),
            ..self
        }
    }

    /// Says what the agent searches and reads files with; a shell is not spoken of then. A name that permission rules deny is
    /// still not named.
    pub fn with_reach(self, grep: Option<&str>, read: Option<&str>) -> Host {
        Host {
            tools: Some([grep, read].map(|name| name.map(str::to_owned))),
            ..self
        }
    }

    /// Says when nobody wants an answer any more: once the flag is set, searches stop, and `Run` stops its command.
    pub fn cancelled_by(self, flag: Arc<AtomicBool>) -> Host {
        Host {
            cancelled: flag,
            ..self
        }
    }

    /// Says who keeps account of the calls.
    pub fn with_journal(self, journal: Arc<dyn Journal>) -> Host {
        Host {
            journal: Some(journal),
            ..self
        }
    }

    /// Keeps no account of what follows.
    pub(super) fn without_journal(self) -> Host {
        Host {
            journal: None,
            ..self
        }
    }

    /// Says where tools may keep what can be made again. Without such a directory they keep nothing.
    pub fn with_cache(self, dir: &Path) -> Host {
        Host {
            cache: Some(dir.to_owned()),
            ..self
        }
    }

    /// Says where the agent works, relative to the root.
    pub fn at(self, cwd: &str) -> Host {
        Host {
            cwd: cwd.to_owned(),
            ..self
        }
    }

    /// Says how notices write the path of a spill.
    pub fn with_paths(self, paths: Paths) -> Host {
        Host { paths, ..self }
    }

    /// Saves no complete output; `why` is what notices say of it.
    pub fn without_spills(self, why: &str) -> Host {
        Host {
            unsaved: Some(why.to_owned()),
            ..self
        }
    }

    /// Says that the agent has a tool that starts subagents.
    pub fn with_task_tool(self, name: &str) -> Host {
        Host {
            task: Some(name.to_owned()),
            ..self
        }
    }

    /// Says how an agent with a shell calls the overspill program.
    pub fn with_program(self, program: &str) -> Host {
        Host {
            program: Some(program.to_owned()),
            ..self
        }
    }

    /// Says what writes summaries. It is asked only where the settings switch summaries on and choose that strategy.
    pub fn with_summarizer(self, summarizer: Arc<dyn Summarizer>) -> Host {
        Host {
            summarizer: Some(summarizer),
            ..self
        }
    }

    /// Returns the project directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns where the agent works, relative to the root.
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// Returns the settings from every source.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns where complete outputs go.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Notes that a spill was looked into; `by` is the tool or the command that did.
    pub fn note_reading(&self, spill: &SpillId, by: &str) {
        if let Some(journal) = &self.journal {
            journal.read_again(spill, by);
        }
    }

    /// Returns how the output of a tool is bounded under the settings that hold for it.
    pub fn policy(&self, tool: &str, effective: &Effective) -> Policy<'_> {
        let mut reach = effective.reach();
        if let Some(task) = &self.task {
            reach.task = Some(task.clone());
        }
        if let Some([grep, read]) = &self.tools {
            reach.grep = reach.grep.and_then(|_| grep.clone());
            reach.read = reach.read.and_then(|_| read.clone());
        }
        reach.program = self
            .program
            .clone()
            .filter(|_| self.tools.is_none() && effective.has_shell());
        Policy {
            limits: effective.limits(),
            strategy: effective.strategy(),
            salience: Salience::default(),
            max_result_chars: effective.max_result_chars(),
            lang: effective.lang(),
            reach,
            tool: tool.to_owned(),
            keeping: match &self.unsaved {
                None => Keeping::Store {
                    store: &self.store,
                    paths: self.paths,
                },
                Some(why) => Keeping::Nowhere(why),
            },
            record: match &self.journal {
                Some(journal) => Record::Journal(&**journal),
                None => Record::Log,
            },
            summaries: effective.summaries(self.summarizer.as_deref()),
        }
    }
}

/// What a call of a tool may know.
#[derive(Debug)]
pub struct Context<'h> {
    host: &'h Host,
    tool: &'h str,
    effective: Effective,
    /// How long the parameters are, which the envelope repeats.
    params_chars: usize,
    salience: Salience,
}

impl<'h> Context<'h> {
    pub(super) fn new(host: &'h Host, tool: &'h str, params_chars: usize) -> Context<'h> {
        Context {
            host,
            tool,
            effective: host.settings.effective(tool),
            params_chars,
            salience: Salience::default(),
        }
    }

    /// Notes what the output is asked for.
    pub(super) fn ask(&mut self, salience: Salience) {
        self.salience = salience;
    }

    pub(super) fn host(&self) -> &'h Host {
        self.host
    }

    pub(super) fn tool(&self) -> &'h str {
        self.tool
    }

    /// Returns the flag that is set when nobody wants the answer any more. A tool that takes long looks at it.
    pub fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.host.cancelled)
    }

    /// Returns the project directory. No tool may leave it, and to see to that is the tool's own care.
    pub fn root(&self) -> &'h Path {
        &self.host.root
    }

    /// Returns where what can be made again may be kept, if anywhere. Whoever keeps something there can do without it.
    pub fn cache(&self) -> Option<&'h Path> {
        self.host.cache.as_deref()
    }

    /// Returns where complete outputs are.
    pub fn store(&self) -> &'h Store {
        &self.host.store
    }

    /// Returns the settings that hold for the tool.
    pub fn settings(&self) -> &Effective {
        &self.effective
    }

    /// Returns the language of what the model reads.
    pub fn lang(&self) -> Lang {
        self.effective.lang()
    }

    /// Returns how the tool's output is bounded.
    pub fn policy(&self) -> Policy<'h> {
        Policy {
            salience: self.salience.clone(),
            ..self.host.policy(self.tool, &self.effective)
        }
    }

    /// Returns how the tool's output is bounded with options of its own, such as `("preset", "log")`, over the settings.
    pub fn policy_with(&self, options: &[(&str, &str)]) -> Result<Policy<'h>, Error> {
        let mut settings = self.host.settings.clone();
        for (key, text) in options {
            settings = settings.with_option(key, text, key)?;
        }
        Ok(Policy {
            salience: self.salience.clone(),
            ..self.host.policy(self.tool, &settings.effective(self.tool))
        })
    }

    /// Ends an output that was bounded as it came; `dress` adds what else the answer says. The guard holds for the whole
    /// envelope.
    pub fn finish(
        &self,
        sink: Sink<'_>,
        outcome: Outcome,
        dress: impl Fn(Answer) -> Answer,
    ) -> Answer {
        let dressed = |bounded: &Bounded<'_>| dress(Answer::of_bounded(bounded, self.lang()));
        let chars = |bounded: &Bounded<'_>| self.chars(&dressed(bounded));
        dressed(&sink.finish_as(outcome, chars))
    }

    /// Tells whether an answer is within the guard. A tool that pages shows less if it is not.
    pub fn is_within_guard(&self, answer: &Answer) -> bool {
        let max = self.effective.max_result_chars();
        max.is_none_or(|max| self.chars(answer) <= max)
    }

    /// Returns how long the envelope of an answer will be.
    fn chars(&self, answer: &Answer) -> usize {
        answer.envelope.to_json().chars().count() + self.params_chars + self.host.cwd.len()
    }
}
