// Dialogs for actions on sessions and projects.

import { i18n } from "@lingui/core";

import { ask } from "../api/client";
import ShareDialog from "../share/ShareDialog";
import { Dialog } from "../shell/Dialog";
import { textIn } from "../shell/form";
import { rename } from "./acts";
import { answered, type Question } from "./asked";
import { lineOf, look, lists, readProjects } from "./lists";
import { makeProject, Move } from "./Move";
import { eraseAll } from "./picked";
import { TagChoice } from "./TagChoice";
import { queryOf, type Page, type Project } from "./types";

export default function Questions({ question }: { question: Question }) {
  switch (question.kind) {
    case "rename":
      return <Rename session={question.session} />;
    case "move":
      return <Move sessions={question.sessions} />;
    case "tags":
      return <TagChoice sessions={question.sessions} />;
    case "share":
      return <ShareDialog session={question.session} closed={answered} />;
    case "clear":
      return <Clear session={question.session} />;
    case "erase":
      return <Erase sessions={question.sessions} />;
    case "empty_trash":
      return <EmptyTrash />;
    case "project":
      return <ProjectName {...(question.project === undefined ? {} : { project: question.project })} />;
    case "remove_project":
      return <RemoveProject project={question.project} />;
  }
}

function Rename({ session }: { session: string }) {
  const title = lineOf(session)?.title ?? "";
  return (
    <Dialog
      title={i18n.t("Rename session")}
      word={i18n.t("Rename")}
      failed={i18n.t("Couldn't rename the session: the server is unreachable.")}
      act={(form) => {
        const name = textIn(form, "name");
        return name === "" || name === title ? undefined : rename(session, name);
      }}
      closed={answered}
    >
      <label>
        {i18n.t("Session name")}
        <input name="name" dir="auto" defaultValue={title} autoFocus required />
      </label>
    </Dialog>
  );
}

function Clear({ session }: { session: string }) {
  return (
    <Dialog
      title={i18n.t("Clear conversation?")}
      word={i18n.t("Clear")}
      failed={i18n.t("Couldn't clear the conversation: the server is unreachable.")}
      danger
      act={() => ask("POST", `/sessions/${session}/clear`)}
      closed={answered}
    >
      <p>{i18n.t("The session starts over without its messages. They remain in the log and in exports.")}</p>
    </Dialog>
  );
}

function Erase({ sessions }: { sessions: readonly string[] }) {
  const titles = sessions.map((session) => lineOf(session)?.title ?? i18n.t("New session"));
  const count = sessions.length;
  return (
    <Dialog
      title={i18n.t(
        "{count, plural, one {Permanently delete # session?} other {Permanently delete # sessions?}}",
        {
          count,
        },
      )}
      word={i18n.t("Delete permanently")}
      cancel={i18n.t("Cancel")}
      danger
      act={() => {
        void eraseAll(sessions);
        return undefined;
      }}
      closed={answered}
    >
      {count <= 5 && (
        <ul>
          {titles.map((title, at) => (
            <li key={at} dir="auto">
              {title}
            </li>
          ))}
        </ul>
      )}
      <p>
        {i18n.t("All messages and answers are deleted from the server, and share links stop working.")}{" "}
        <b>{i18n.t("This can't be undone.")}</b>
      </p>
    </Dialog>
  );
}

/** Returns all sessions in the trash, read page by page. */
async function inTrash(): Promise<string[]> {
  const found: string[] = [];
  const query = queryOf({ shelf: "trash" });
  query.set("count", "200");
  for (;;) {
    const page = await ask<Page>("GET", `/sessions?${query}`);
    found.push(...page.sessions.map(({ session }) => session));
    if (page.next == null) return found;
    query.set("before", page.next);
  }
}

function EmptyTrash() {
  const count = lists.getState().counts?.trash ?? 0;
  return (
    <Dialog
      title={i18n.t("Empty trash?")}
      word={i18n.t("Delete permanently")}
      failed={i18n.t("Couldn't empty the trash: the server is unreachable.")}
      cancel={i18n.t("Cancel")}
      danger
      act={async () => void eraseAll(await inTrash())}
      closed={answered}
    >
      <p>
        {i18n.t(
          "{count, plural, one {# session and all its messages and answers will be deleted permanently.} other {# sessions and all their messages and answers will be deleted permanently.}}",
          { count },
        )}{" "}
        <b>{i18n.t("This can't be undone.")}</b>
      </p>
    </Dialog>
  );
}

/** Creates a project, or renames an existing one. */
function ProjectName({ project }: { project?: Project }) {
  return (
    <Dialog
      title={project === undefined ? i18n.t("New project") : i18n.t("Rename project")}
      word={project === undefined ? i18n.t("Create project") : i18n.t("Rename")}
      failed={
        project === undefined
          ? i18n.t("Couldn't create the project: the server is unreachable.")
          : i18n.t("Couldn't rename the project: the server is unreachable.")
      }
      act={async (form) => {
        const name = textIn(form, "name");
        if (project === undefined) await makeProject(name);
        else await ask("PATCH", `/projects/${project.project}`, { body: { name } });
        readProjects();
      }}
      closed={answered}
    >
      <label>
        {i18n.t("Project name")}
        <input name="name" dir="auto" defaultValue={project?.name} autoFocus required maxLength={100} />
      </label>
    </Dialog>
  );
}

function RemoveProject({ project }: { project: Project }) {
  return (
    <Dialog
      title={i18n.t("Delete project “{name}”?", { name: project.name })}
      word={i18n.t("Delete project")}
      failed={i18n.t("Couldn't delete the project: the server is unreachable.")}
      act={async () => {
        await ask("DELETE", `/projects/${project.project}`);
        const { view } = lists.getState();
        if (view.project === project.project) look({ shelf: "active" });
        readProjects();
      }}
      closed={answered}
    >
      <p>{i18n.t("Its sessions are kept, without a project.")}</p>
    </Dialog>
  );
}
