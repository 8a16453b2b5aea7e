// Everything that can be set, a page for each subject: a menu beside it, or a list of its own on a phone.

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

/** In the language of the moment. */
function pages(): Page[] {
  return [
    { path: "models", title: i18n.t("Models"), told: i18n.t("Who answers"), shows: Models },
    {
      path: "projects",
      title: i18n.t("Projects"),
      told: i18n.t("A model and instructions for each"),
      shows: Projects,
    },
    {
      path: "conversation",
      title: i18n.t("Conversation"),
      told: i18n.t("What Enter does, after a crash, shortcuts"),
      shows: ConversationPage,
    },
    {
      path: "appearance",
      title: i18n.t("Appearance"),
      told: i18n.t("Light or dark, text size, language"),
      shows: AppearancePage,
    },
    {
      path: "access",
      title: i18n.t("Access"),
      told: i18n.t("Passkeys, password, devices, tokens"),
      shows: Access,
    },
    {
      path: "people",
      title: i18n.t("People"),
      told: i18n.t("Who may use this server"),
      shows: People,
      owners: true,
    },
    {
      path: "messaging",
      title: i18n.t("Messaging"),
      told: i18n.t("Chat apps, and who may write from them"),
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
              <h2>{i18n.t("There is no such page")}</h2>
              <p>{i18n.t("The menu has all that you can set.")}</p>
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
