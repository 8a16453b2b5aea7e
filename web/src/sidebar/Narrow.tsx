// Above the list: project and tag filters, or a description of the archive or trash.

import { i18n } from "@lingui/core";
import { ChevronRight, Ellipsis, Folder, Plus } from "lucide-react";

import { trashDays } from "../sessions/acts";
import { ask, openMenu } from "../sessions/asked";
import { useLists } from "../sessions/lists";
import type { Project, View } from "../sessions/types";
import { useRemembered } from "../shell/remembered";
import { Unsent } from "./Unsent";
import { show } from "./Views";

/** Number of tags shown before "Show more", most used first. */
const TAGS = 12;

export function Narrow({ shown }: { shown: string | undefined }) {
  const shelf = useLists(({ view }) => view.shelf);
  if (shelf === "archived") {
    return (
      <div className="place">
        <h2>{i18n.t("Archive")}</h2>
        <p className="dim">{i18n.t("Hidden from the list, still searchable. Nothing here is deleted.")}</p>
      </div>
    );
  }
  if (shelf === "trash") return <TrashPlace />;
  return (
    <>
      <Projects />
      <Tags />
      <Unsent shown={shown} />
    </>
  );
}

function TrashPlace() {
  const count = useLists(({ counts }) => counts?.trash);
  const days = trashDays();
  return (
    <div className="place">
      <h2>{i18n.t("Trash")}</h2>
      <p className="dim">
        {days === 0
          ? i18n.t("Sessions stay here until you delete them permanently.")
          : i18n.t(
              "{days, plural, one {Sessions are deleted permanently after # day in the trash.} other {Sessions are deleted permanently after # days in the trash.}}",
              { days },
            )}
      </p>
      <button
        type="button"
        className="btn sm"
        disabled={count === 0}
        onClick={() => ask({ kind: "empty_trash" })}
      >
        {i18n.t("Empty trash")}
      </button>
    </div>
  );
}

/** Returns the view filtered by a project or tag, or without that filter if it was already chosen. */
function narrowed(view: View, by: "project" | "tag", value: string): View {
  const { [by]: before, ...rest } = view;
  return before === value ? rest : { ...rest, [by]: value };
}

function Projects() {
  const projects = useLists(({ projects }) => projects);
  const view = useLists(({ view }) => view);
  const [open, choose] = useRemembered("projects");
  const chosen = projects.find(({ project }) => project === view.project);
  const listed = open ? projects : chosen === undefined ? [] : [chosen];
  return (
    <section className="projects">
      <h2>
        <button type="button" className="fold" aria-expanded={open} onClick={() => choose(!open)}>
          <ChevronRight className="chev" aria-hidden="true" /> {i18n.t("Projects")}
          {projects.length > 0 && <span className="n num">{projects.length}</span>}
        </button>
        <button
          type="button"
          className="icon"
          aria-label={i18n.t("New project")}
          title={i18n.t("New project")}
          onClick={() => ask({ kind: "project" })}
        >
          <Plus aria-hidden="true" />
        </button>
      </h2>
      {open && projects.length === 0 && (
        <p className="dim none">
          {i18n.t("Group related sessions in projects, each with its own model and instructions.")}
        </p>
      )}
      {listed.map((project) => (
        <OneProject key={project.project} project={project} view={view} />
      ))}
    </section>
  );
}

function OneProject({ project, view }: { project: Project; view: View }) {
  const menu = (x: number, y: number) => openMenu({ of: { project }, x, y });
  return (
    <div
      className="slot"
      onContextMenu={(event) => {
        event.preventDefault();
        menu(event.clientX, event.clientY);
      }}
      onKeyDown={(event) => {
        if (!(event.key === "F10" && event.shiftKey)) return;
        event.preventDefault();
        const { left, bottom } = event.currentTarget.getBoundingClientRect();
        menu(left, bottom);
      }}
    >
      <button
        type="button"
        className="proj"
        aria-pressed={view.project === project.project}
        onClick={() => show(narrowed(view, "project", project.project))}
      >
        <Folder aria-hidden="true" />
        <span className="clip" dir="auto">
          {project.name}
        </span>
      </button>
      <button
        type="button"
        className="icon act"
        aria-label={i18n.t("Project options")}
        aria-haspopup="menu"
        onClick={(event) => {
          const { left, bottom } = event.currentTarget.getBoundingClientRect();
          menu(left, bottom);
        }}
      >
        <Ellipsis aria-hidden="true" />
      </button>
    </div>
  );
}

function Tags() {
  const tags = useLists(({ tags }) => tags);
  const view = useLists(({ view }) => view);
  const [all, choose] = useRemembered("tags");
  if (tags.length === 0) return null;
  const first = tags.slice(0, TAGS).map(({ tag }) => tag);
  const listed = all ? tags.map(({ tag }) => tag) : first;
  // The chosen tag is always listed, so that it can be removed.
  const shown = view.tag === undefined || listed.includes(view.tag) ? listed : [...listed, view.tag];
  return (
    <div className="chips" role="group" aria-label={i18n.t("Tags")}>
      {shown.map((tag) => (
        <button
          key={tag}
          type="button"
          className="chip"
          aria-pressed={view.tag === tag}
          onClick={() => show(narrowed(view, "tag", tag))}
        >
          <span className="clip">{tag}</span>
        </button>
      ))}
      {tags.length > TAGS && (
        <button type="button" className="chip all" aria-expanded={all} onClick={() => choose(!all)}>
          {all ? i18n.t("Show fewer") : i18n.t("Show {count} more", { count: tags.length - TAGS })}
        </button>
      )}
    </div>
  );
}
