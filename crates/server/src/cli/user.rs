//! Adds users, gives them passwords and shuts them out, beside a server that may be running.

use std::io::BufRead;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use store::people::Role;

use super::terminal::{plain, remark, say};
use crate::config::Config;
use crate::password;
use crate::people::{self, by_hand, named};

#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// Add a user. A password comes by `everturn user password`.
    Add {
        name: String,
        /// `member`, or `owner`, who also manages the others.
        #[arg(long, default_value = Role::Member.as_str())]
        role: Role,
    },
    /// List everyone.
    List,
    /// Set a user's password; it is read from standard input. All logins of the user end.
    Password { name: String },
    /// Shut a user out: no login, token or share works until he is let in again.
    Disable { name: String },
    /// Let a user in again.
    Enable { name: String },
}

impl User {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let people = people::open(&config.enter_shared()?)?;
        match self {
            Self::Add { name, role } => {
                people.add_user(by_hand(), name.trim(), role, None)?;
                remark(&format!("Next: `everturn user password {}`.", plain(name.trim())));
            }
            Self::List => {
                for user in people.users()? {
                    let login = if user.can_log_in { "login" } else { "no-password" };
                    let state = if user.disabled { "disabled" } else { login };
                    say(&format!("{} {} {state} {}\n", user.id, user.role.as_str(), plain(&user.name)))?;
                }
            }
            Self::Password { name } => {
                let user = named(&people, &name)?;
                remark("The new password:");
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).context("read the password")?;
                let new = line.trim_end_matches(['\n', '\r']);
                if !password::is_usable(new) {
                    let (least, most) = (password::LENGTH_MIN, password::LENGTH_MAX);
                    bail!("a password has {least} to {most} characters; nothing was changed");
                }
                people.set_password(by_hand(), user.id, &password::hash(new)?)?;
                remark(&format!("{} can log in now; earlier logins have ended.", plain(&user.name)));
            }
            Self::Disable { name } => {
                let user = named(&people, &name)?;
                people.set_user(by_hand(), user.id, user.role, true)?;
            }
            Self::Enable { name } => {
                let user = named(&people, &name)?;
                people.set_user(by_hand(), user.id, user.role, false)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
