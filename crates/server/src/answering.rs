//! Answers turns with what is set at the moment at which a run begins: the models, what they are told, and what the project
//! of the session says of both.

use std::sync::Arc;

use agent::media::MediaReader;
use agent::{Agent, Billed, Model, RunLimits, Tool, World};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{PromptRequest, RunProgress, RunRequest, Runner};
use session::{Progress, ProjectId, TurnId, UserId};
use store::people::{People, Project};

use crate::models::Offered;
use crate::settings::Settings;

/// Works on turns as the server is set at the moment.
pub(crate) struct Answering {
    pub(crate) offered: Arc<Offered>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) people: Arc<People>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) world: Arc<dyn World>,
    pub(crate) media: Arc<MediaReader>,
    pub(crate) limits: RunLimits,
    /// The name of the model for titles and summaries, if the operator named one.
    pub(crate) background: Option<String>,
}

impl Answering {
    /// The agent for one run. It keeps what it is made with, whatever is changed meanwhile. `named`: the message says itself
    /// who answers it.
    fn agent(&self, user: UserId, project: Option<ProjectId>, named: bool) -> Result<Agent, String> {
        let unread = |error: store::people::PeopleError| {
            tracing::error!(reason = %error, "failed to read user and project");
            "The user or project settings couldn't be read. Try again.".to_owned()
        };
        let user_now = self.people.user(user).map_err(unread)?;
        if user_now.is_none_or(|(user, _)| user.disabled) {
            return Err("The account that owns this session is disabled or no longer exists.".to_owned());
        }
        // A project that is gone says nothing.
        let project = project.map(|project| self.people.project(user, project)).transpose();
        let project = project.map_err(unread)?.flatten();
        let mut models: Vec<Model> = self.offered.now().iter().map(|offer| offer.model.clone()).collect();
        if let Some(name) = project.as_ref().and_then(|project| project.model.as_deref()) {
            match models.iter().position(|model| model.name == name) {
                Some(at) => models[..=at].rotate_right(1),
                None if named || models.is_empty() => {}
                None => {
                    return Err(format!(
                        "The model `{name}` of this project is no longer offered. Choose another for the project."
                    ));
                }
            }
        }
        let background = self.background.as_ref();
        let background = background.and_then(|name| models.iter().find(|model| model.name == *name).cloned());
        Ok(Agent {
            models,
            background,
            tools: self.tools.clone(),
            world: self.world.clone(),
            media: self.media.clone(),
            limits: self.limits,
            instructions: self.instructions(project),
        })
    }

    /// What the model is told: everywhere, then in the project.
    fn instructions(&self, project: Option<Project>) -> Option<String> {
        let everywhere = self.settings.now().instructions.clone();
        let told: Vec<String> =
            everywhere.into_iter().chain(project.and_then(|project| project.instructions)).collect();
        (!told.is_empty()).then(|| told.join("\n\n"))
    }
}

impl Runner for Answering {
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()> {
        match self.agent(request.user, request.project, request.prompt.model().is_some()) {
            Ok(agent) => Runner::run(&agent, request, progress),
            Err(error) => async move {
                // A run that is over was ended by someone else, who knows.
                drop(progress.report(Progress::Failed { error }).await);
            }
            .boxed(),
        }
    }

    fn title(&self, request: PromptRequest) -> BoxFuture<'static, Option<Billed<String>>> {
        match self.agent(request.user, request.project, request.prompt.model().is_some()) {
            Ok(agent) => Runner::title(&agent, request),
            Err(_) => std::future::ready(None).boxed(),
        }
    }

    fn summary(&self, request: PromptRequest) -> BoxFuture<'static, Billed<(String, TurnId)>> {
        match self.agent(request.user, request.project, request.prompt.model().is_some()) {
            Ok(agent) => Runner::summary(&agent, request),
            Err(_) => std::future::ready(Billed::nothing()).boxed(),
        }
    }
}
