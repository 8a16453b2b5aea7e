// The settings, one page per subject. The menu is beside the page, or on a phone a page of its own.

import { i18n } from "@lingui/core";
import { ArrowLeft } from "lucide-react";
import type { ComponentType } from "react";
import { Link } from "wouter";

import { useKnown } from "../shell/use";
import { Access } from "./Access";
import { AppearancePage } from "./AppearancePage";
import { ConversationPage } from "./ConversationPage";
import { Data } from "./Data";
import { Messaging } from "./Messaging";
import { Models } from "./Models";
import { People } from "./People";
import { Projects } from "./Projects";
import "../styles/settings.css";

interface Page {
  path: string;
  title: string;
  told: string;
  shows: ComponentType;
  owners?: true;
}

/** A function, because the titles depend on the language. */
function pages(): Page[] {
  return [
    {
      path: "models",
      title: i18n.t("Models"),
      told: i18n.t("Providers, keys and the default"),
      shows: Models,
    },
    {
      path: "projects",
      title: i18n.t("Projects"),
      told: i18n.t("Model and instructions for each project"),
      shows: Projects,
    },
    {
      path: "conversation",
      title: i18n.t("Conversation"),
      told: i18n.t("Enter key, shortcuts, interruptions"),
      shows: ConversationPage,
    },
    {
      path: "appearance",
      title: i18n.t("Appearance"),
      told: i18n.t("Theme, text size, language, notifications"),
      shows: AppearancePage,
    },
    {
      path: "access",
      title: i18n.t("Access"),
      told: i18n.t("Passkeys, password, devices, API tokens"),
      shows: Access,
    },
    {
      path: "people",
      title: i18n.t("People"),
      told: i18n.t("Users, roles and the audit log"),
      shows: People,
      owners: true,
    },
    {
      path: "messaging",
      title: i18n.t("Messaging"),
      told: i18n.t("Matrix, Telegram and webhooks"),
      shows: Messaging,
      owners: true,
    },
    {
      path: "data",
      title: i18n.t("Data"),
      told: i18n.t("Storage, backups, export"),
      shows: Data,
      owners: true,
    },
  ];
}

export default function Settings({ page }: { page: string | undefined }) {
  const owner = useKnown(({ user }) => user?.role === "owner");
  const offered = pages().filter(({ owners }) => owners !== true || owner);
  // A wide window shows the first page beside the menu; a phone shows the menu alone.
  const shown = page === undefined ? offered[0] : offered.find(({ path }) => path === page);
  const Shown = shown?.shows;
  return (
    <div className="settings" data-page={page ?? ""}>
      <header className="head">
        <Link
          href={page === undefined ? "/" : "/settings"}
          className="icon only-p"
          aria-label={page === undefined ? i18n.t("Back to sessions") : i18n.t("Back to all settings")}
        >
          <ArrowLeft aria-hidden="true" />
        </Link>
        <h1 className="grow">{i18n.t("Settings")}</h1>
        {owner && (
          <Link href="/server" className="btn">
            {i18n.t("Server")}
          </Link>
        )}
      </header>
      <div className="split">
        <nav className="rooms" aria-label={i18n.t("Settings")}>
          {offered.map(({ path, title, told }) => (
            <Link
              key={path}
              href={`/settings/${path}`}
              aria-current={path === shown?.path ? "page" : undefined}
            >
              <b>{title}</b>
              <span>{told}</span>
            </Link>
          ))}
        </nav>
        <div className="subject" tabIndex={-1}>
          {shown === undefined || Shown === undefined ? (
            <>
              <h2>{i18n.t("Page not found")}</h2>
              <p>{i18n.t("Choose a page from the menu.")}</p>
            </>
          ) : (
            <>
              <h2>{shown.title}</h2>
              <Shown key={shown.path} />
            </>
          )}
        </div>
      </div>
    </div>
  );
}
