//! Passkeys: a device proves that it has a key, and that its user is there, without telling anybody the key.

use std::time::Duration;

use serde_json::{Value, json};
use session::UserId;
use store::people::{self, People, PeopleError, User};
use uuid::Uuid;
use webauthn_rs::prelude::{
    DiscoverableAuthentication, Passkey, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, Url, Webauthn, WebauthnBuilder, WebauthnError,
};

use crate::ceremonies::Ceremonies;
use crate::people::by;
use crate::throttle::Key;

/// How long there is from the challenge to its answer.
const CEREMONY_MAX: Duration = Duration::from_secs(5 * 60);

/// Why something with a passkey did not happen.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PasskeyError {
    #[error(
        "Passkeys need a host name, but this page was opened by its IP address. Use localhost or a name from \
         `hosts` in the configuration."
    )]
    NoName,
    #[error("The request expired after {} minutes or was already used. Start again.", CEREMONY_MAX.as_secs() / 60)]
    Over,
    #[error("The passkey couldn't be verified: {0}.")]
    Wrong(#[from] WebauthnError),
    #[error("This passkey isn't registered here.")]
    Unknown,
    #[error("failed to encode passkey: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error(transparent)]
    People(#[from] PeopleError),
}

/// What a browser is asked to do, and by what that is finished.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) ceremony: Uuid,
    /// What `navigator.credentials` takes.
    pub(crate) options: Value,
}

struct Adding {
    user: UserId,
    party: Webauthn,
    state: PasskeyRegistration,
}

struct Entering {
    party: Webauthn,
    state: DiscoverableAuthentication,
}

/// What is being added, and who is on his way in.
pub(crate) struct Passkeys {
    adding: Ceremonies<Adding>,
    entering: Ceremonies<Entering>,
}

impl Default for Passkeys {
    fn default() -> Self {
        Self { adding: Ceremonies::lasting(CEREMONY_MAX), entering: Ceremonies::lasting(CEREMONY_MAX) }
    }
}

/// Whether passkeys can be used at an origin: they belong to a name, never to an address of numbers.
pub(crate) fn work_at(origin: Option<&Url>) -> bool {
    origin.is_some_and(|origin| origin.domain().is_some())
}

/// This server, as devices know it at an origin. An answer for any other origin is refused.
fn party(origin: Option<&Url>) -> Result<Webauthn, PasskeyError> {
    let origin = origin.filter(|origin| work_at(Some(origin))).ok_or(PasskeyError::NoName)?;
    let name = origin.domain().unwrap_or_default();
    Ok(WebauthnBuilder::new(name, origin)?.rp_name("Everturn").timeout(CEREMONY_MAX).build()?)
}

impl Passkeys {
    /// Begins to add a passkey to a user's.
    ///
    /// # Errors
    /// When there can be none here.
    pub(crate) fn begin_adding(
        &self,
        origin: Option<&Url>,
        from: Option<Key>,
        user: &User,
        known: &[people::Passkey],
    ) -> Result<Begun, PasskeyError> {
        let party = party(origin)?;
        let known = known.iter().map(|passkey| passkey.credential.clone()).collect();
        let (options, state) =
            party.start_passkey_registration(user.id.0, &user.name, &user.name, Some(known))?;
        let mut options = serde_json::to_value(options)?;
        // Nobody types a name to log in with one, so the device must know whose it is.
        let selection = &mut options["publicKey"]["authenticatorSelection"];
        selection["residentKey"] = json!("required");
        selection["requireResidentKey"] = json!(true);
        let ceremony = self.adding.begin(from, Adding { user: user.id, party, state });
        Ok(Begun { ceremony, options })
    }

    /// Checks what a device answered, and keeps its passkey.
    ///
    /// # Errors
    /// When it is not the answer, or could not be kept.
    pub(crate) fn finish_adding(
        &self,
        people: &People,
        user: UserId,
        ceremony: Uuid,
        name: &str,
        credential: &RegisterPublicKeyCredential,
    ) -> Result<Uuid, PasskeyError> {
        let adding = self.adding.finish(ceremony).filter(|adding| adding.user == user);
        let Adding { party, state, .. } = adding.ok_or(PasskeyError::Over)?;
        let passkey = party.finish_passkey_registration(credential, &state)?;
        let kept = serde_json::to_string(&passkey)?;
        Ok(people.add_passkey(by(Some(user)), user, name, passkey.cred_id(), &kept)?)
    }

    /// Begins to let somebody in, whoever it will be.
    ///
    /// # Errors
    /// When there can be no passkeys here.
    pub(crate) fn begin_entering(
        &self,
        origin: Option<&Url>,
        from: Option<Key>,
    ) -> Result<Begun, PasskeyError> {
        let party = party(origin)?;
        let (mut options, state) = party.start_discoverable_authentication()?;
        // Whether the browser shows its own list or offers names where one is typed is the page's choice.
        options.mediation = None;
        let options = serde_json::to_value(options)?;
        let ceremony = self.entering.begin(from, Entering { party, state });
        Ok(Begun { ceremony, options })
    }

    /// Checks what a device answered, and says who it is.
    ///
    /// # Errors
    /// When it is not the answer, nobody has that passkey, or he is shut out.
    pub(crate) fn finish_entering(
        &self,
        people: &People,
        ceremony: Uuid,
        credential: &PublicKeyCredential,
    ) -> Result<User, PasskeyError> {
        let Entering { party, state } = self.entering.finish(ceremony).ok_or(PasskeyError::Over)?;
        let (user, id) = party.identify_discoverable_authentication(credential)?;
        let found = people.passkey(id)?;
        let (known, owner) =
            found.filter(|(_, owner)| owner.id.0 == user && !owner.disabled).ok_or(PasskeyError::Unknown)?;
        let mut passkey: Passkey = serde_json::from_str(&known.kept)?;
        // A counter that does not rise is refused here: there are two of a key that there should be one of.
        let result = party.finish_discoverable_authentication_v2(credential, state, &passkey)?;
        passkey.update_credential(&result);
        people.use_passkey(by(Some(owner.id)), &known, &serde_json::to_string(&passkey)?)?;
        Ok(owner)
    }
}
