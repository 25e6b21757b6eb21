//! Where the bytes of an output go while it is bounded, and what became of them.

use super::{Keeping, Paths, Policy, Remark};
use crate::error::Error;
use crate::notice::{self, Outcome, Rest};
use crate::store::{Format, Saved, Spill};

/// The bytes as they came: held while the output may be within its limits, then on their way to the store.
#[derive(Debug)]
pub(super) enum Saving<'p> {
    Held(Vec<u8>),
    Writing(Spill<'p>),
    Lost(String),
}

impl<'p> Saving<'p> {
    pub(super) fn push(&mut self, chunk: &[u8], policy: &Policy<'p>) {
        match self {
            Saving::Held(held) => {
                held.extend_from_slice(chunk);
                if held.len() > policy.limits.reach_bytes() {
                    if let Some(journal) = policy.record.journal() {
                        journal.expect_cut(policy.limits.token_encoding());
                    }
                    self.start(policy);
                }
            }
            Saving::Writing(spill) => {
                if let Err(error) = spill.write(chunk) {
                    *self = Saving::Lost(error.to_string());
                }
            }
            Saving::Lost(_) => {}
        }
    }

    /// Begins the spill with what was held.
    fn start(&mut self, policy: &Policy<'p>) {
        let (Saving::Held(held), Keeping::Store { store, .. }) = (&*self, policy.keeping) else {
            return;
        };
        let begun = store
            .begin(&policy.tool)
            .and_then(|mut spill| spill.write(held).map(|()| spill));
        *self = match begun {
            Ok(spill) => Saving::Writing(spill),
            Err(error) => Saving::Lost(error.to_string()),
        };
    }

    /// Completes the spill.
    pub(super) fn settle(mut self, policy: &Policy<'p>) -> Kept {
        self.start(policy);
        match self {
            Saving::Writing(spill) => Kept::from(spill.commit(Format::Text), policy),
            Saving::Lost(why) => Kept::Lost(why),
            Saving::Held(_) => Kept::Lost("there is no store".to_owned()),
        }
    }
}

/// What became of the whole output.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Saved {
        saved: Saved,
        /// Its path as the agent can use it.
        shown: String,
        /// What else the notice says: that a summary is shown, or why not.
        remark: Remark,
    },
    Lost(String),
}

impl Kept {
    pub(crate) fn from(saved: Result<Saved, Error>, policy: &Policy<'_>) -> Kept {
        match (saved, policy.keeping) {
            (
                Ok(saved),
                Keeping::Store {
                    store,
                    paths: Paths::Absolute,
                },
            ) => {
                let shown = store.absolute(&saved.path);
                Kept::Saved {
                    saved,
                    shown,
                    remark: None,
                }
            }
            (Ok(saved), _) => Kept::Saved {
                shown: saved.path.clone(),
                saved,
                remark: None,
            },
            (Err(error), _) => Kept::Lost(error.to_string()),
        }
    }

    /// The whole is in one file, and the notice names another that is easier to read.
    pub(crate) fn both(whole: Saved, named: &Saved, policy: &Policy<'_>) -> Kept {
        match Kept::from(Ok(named.clone()), policy) {
            Kept::Saved { shown, .. } => Kept::Saved {
                saved: whole,
                shown,
                remark: None,
            },
            lost => lost,
        }
    }

    /// Has the notice say something more.
    pub(crate) fn remarked(mut self, said: Remark) -> Kept {
        if let Kept::Saved { remark, .. } = &mut self {
            *remark = said;
        }
        self
    }

    pub(crate) fn saved(&self) -> Option<&Saved> {
        match self {
            Kept::Saved { saved, .. } => Some(saved),
            Kept::Lost(_) => None,
        }
    }

    pub(super) fn why(&self) -> Option<&str> {
        match self {
            Kept::Saved { .. } => None,
            Kept::Lost(why) => Some(why),
        }
    }

    pub(crate) fn hint(&self, policy: &Policy<'_>, outcome: Outcome, next: u64) -> String {
        let rest = match self {
            Kept::Saved {
                saved,
                shown,
                remark,
            } => Rest::Saved {
                path: shown,
                id: saved.id.as_str(),
                next,
                remark: remark.as_deref(),
            },
            Kept::Lost(why) => Rest::Lost { why },
        };
        notice::hint(outcome, &rest, &policy.reach, policy.lang)
    }
}
