//! Adds, lists, disables and enables users, and sets their passwords. The server may be running.

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
    /// Add a user. Set the password with `everturn user password`.
    Add {
        name: String,
        /// Role of the user: `member`, or `owner` to manage the server and its users.
        #[arg(long, default_value = Role::Member.as_str())]
        role: Role,
    },
    /// List all users.
    List,
    /// Set a user's password, read from standard input. Signs the user out everywhere.
    Password { name: String },
    /// Disable a user: sign-in, tokens and share links stop working until you enable the user again.
    Disable { name: String },
    /// Enable a disabled user.
    Enable { name: String },
}

impl User {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let people = people::open(&config.enter_shared()?)?;
        match self {
            Self::Add { name, role } => {
                people.add_user(by_hand(), name.trim(), role, None)?;
                remark(&format!(
                    "Next, set a password with `everturn user password {}`.",
                    plain(name.trim())
                ));
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
                remark("Enter the new password:");
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).context("failed to read the password")?;
                let new = line.trim_end_matches(['\n', '\r']);
                if !password::is_usable(new) {
                    let (least, most) = (password::LENGTH_MIN, password::LENGTH_MAX);
                    bail!("a password must have {least} to {most} characters; the password was not changed");
                }
                people.set_password(by_hand(), user.id, &password::hash(new)?)?;
                remark(&format!(
                    "Saved the password. {} can sign in now; earlier sign-ins have ended.",
                    plain(&user.name)
                ));
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
