//! Settings that owners can change while the server runs. They override the configuration file; the environment overrides
//! both.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use std::time::Duration;

use hub::ResumePolicy;
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::people::{By, People, PeopleError};
use utoipa::ToSchema;

use crate::config::{self, AfterInterruptionConfig, Config};

/// A snapshot of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SettingsValues)]
pub(crate) struct Values {
    pub(crate) after_interruption: AfterInterruptionConfig,
    /// Maximum age in seconds of an interrupted run's last output for the run to resume automatically; 0 for never.
    pub(crate) resume_within_seconds: u64,
    /// Days until a session in the trash is deleted permanently; 0 for never.
    pub(crate) trash_days: u32,
    /// The system prompt for every session.
    pub(crate) instructions: Option<String>,
}

impl Values {
    fn resume_within(&self) -> Duration {
        Duration::from_secs(self.resume_within_seconds)
    }

    fn resume_policy(&self) -> ResumePolicy {
        ResumePolicy::new(self.after_interruption.into(), self.resume_within())
    }
}

/// A change of settings. Fields that are `None` keep their values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    pub(crate) after_interruption: Option<AfterInterruptionConfig>,
    pub(crate) resume_within_seconds: Option<u64>,
    pub(crate) trash_days: Option<u32>,
    pub(crate) instructions: Option<Option<String>>,
}

/// Why a change was rejected. A rejected change has no effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    #[error("`{0}` is set in the server's environment and can't be changed here")]
    InEnvironment(&'static str),
    #[error(transparent)]
    People(#[from] PeopleError),
}

/// The current settings.
#[derive(Debug)]
pub(crate) struct Settings {
    people: Arc<People>,
    in_environment: Vec<&'static str>,
    now: RwLock<Arc<Values>>,
    /// Shared with the hub.
    resume_policy: ResumePolicy,
    /// Serializes changes.
    changing: Mutex<()>,
}

impl Settings {
    /// Combines the configuration with the saved settings.
    ///
    /// # Errors
    /// Returns an error if the saved settings can't be read.
    pub(crate) fn open(config: &Config, people: Arc<People>) -> Result<Self, PeopleError> {
        let kept = people.settings()?;
        let mut values = Values {
            after_interruption: config.after_interruption,
            resume_within_seconds: config.resume_within_seconds,
            trash_days: config.trash_days,
            instructions: config.instructions.clone(),
        };
        for (name, text) in &kept {
            // The environment overrides saved settings. Settings of newer versions are ignored.
            if config.in_environment.contains(&config::today(name)) {
                continue;
            }
            match config::today(name) {
                "after_interruption" => take(&mut values.after_interruption, name, text),
                "resume_within_seconds" => take(&mut values.resume_within_seconds, name, text),
                "trash_days" => take(&mut values.trash_days, name, text),
                "instructions" => take(&mut values.instructions, name, text),
                _ => {}
            }
        }
        Ok(Self {
            people,
            in_environment: config.in_environment.clone(),
            resume_policy: values.resume_policy(),
            now: RwLock::new(Arc::new(values)),
            changing: Mutex::default(),
        })
    }

    pub(crate) fn now(&self) -> Arc<Values> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The settings that the environment sets, so that they can't be changed.
    pub(crate) fn in_environment(&self) -> &[&'static str] {
        &self.in_environment
    }

    pub(crate) fn resume_policy(&self) -> ResumePolicy {
        self.resume_policy.clone()
    }

    /// Applies a change, all of it or nothing. The change is saved and in effect when this returns.
    ///
    /// # Errors
    /// Returns an error if the environment sets one of the fields, or if the change can't be saved.
    pub(crate) fn change(&self, by: By, change: Change) -> Result<(), ChangeError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.now();
        let mut values = Values::clone(&before);
        let mut kept = Vec::new();
        if let Some(new) = change.after_interruption {
            note(&mut kept, "after_interruption", &mut values.after_interruption, new);
        }
        if let Some(new) = change.resume_within_seconds {
            note(&mut kept, "resume_within_seconds", &mut values.resume_within_seconds, new);
        }
        if let Some(new) = change.trash_days {
            note(&mut kept, "trash_days", &mut values.trash_days, new);
        }
        if let Some(new) = change.instructions {
            note(&mut kept, "instructions", &mut values.instructions, new);
        }
        if let Some(name) = self.in_environment.iter().find(|name| kept.iter().any(|(kept, _)| kept == *name))
        {
            return Err(ChangeError::InEnvironment(name));
        }
        if kept.is_empty() {
            return Ok(());
        }
        self.people.set(by, &kept)?;
        self.resume_policy.set(values.after_interruption.into(), values.resume_within());
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(values);
        Ok(())
    }
}

/// Replaces a value by a saved one, if that is valid.
fn take<T: DeserializeOwned>(value: &mut T, name: &str, text: &str) {
    match serde_json::from_str(text) {
        Ok(set) => *value = set,
        Err(error) => {
            tracing::warn!(name, reason = %error, "saved setting is invalid, using the configuration file");
        }
    }
}

/// Sets a value, and adds it to the values to save if it changed.
fn note<T: Serialize + PartialEq>(
    kept: &mut Vec<(&'static str, String)>,
    name: &'static str,
    value: &mut T,
    new: T,
) {
    if *value != new
        && let Ok(text) = serde_json::to_string(&new)
    {
        kept.push((name, text));
        *value = new;
    }
}

#[cfg(test)]
mod tests {
    use hub::AfterInterruption;

    use store::directory::{DataDirectory, LogsAt};

    use super::*;
    use crate::people::{by_hand, open};

    #[test]
    fn what_was_set_goes_before_the_file_and_the_environment_before_both() {
        let data = tempfile::tempdir().unwrap();
        let directory = DataDirectory::enter(data.path(), LogsAt::Here).unwrap();
        let people = Arc::new(open(&directory).unwrap());
        let config = Config { instructions: Some("of the file".to_owned()), ..Config::default() };
        let settings = Settings::open(&config, people.clone()).unwrap();
        assert_eq!(
            (settings.now().trash_days, settings.resume_policy().get()),
            (30, AfterInterruption::Continue)
        );
        let seen_by_the_hub = settings.resume_policy();
        let change = Change {
            after_interruption: Some(AfterInterruptionConfig::Wait),
            resume_within_seconds: None,
            trash_days: Some(7),
            instructions: Some(None),
        };
        settings.change(by_hand(), change.clone()).unwrap();
        assert_eq!(seen_by_the_hub.get(), AfterInterruption::Wait);
        let set = Values {
            after_interruption: AfterInterruptionConfig::Wait,
            resume_within_seconds: 3_600,
            trash_days: 7,
            instructions: None,
        };
        assert_eq!(*settings.now(), set);
        let again = Settings::open(&config, people.clone()).unwrap();
        assert_eq!((again.now().as_ref(), again.resume_policy().get()), (&set, AfterInterruption::Wait));
        // A change to the same values adds no line to the audit log.
        let lines = people.audit(None, 10).unwrap().len();
        again.change(by_hand(), change.clone()).unwrap();
        assert_eq!(people.audit(None, 10).unwrap().len(), lines);
        let environment = Config { trash_days: 1, in_environment: vec!["trash_days"], ..config };
        let settings = Settings::open(&environment, people).unwrap();
        assert_eq!(
            (settings.now().trash_days, settings.now().after_interruption),
            (1, AfterInterruptionConfig::Wait)
        );
        let refused = settings.change(by_hand(), change);
        assert!(matches!(refused, Err(ChangeError::InEnvironment("trash_days"))));
        assert_eq!(settings.now().trash_days, 1);
    }
}
