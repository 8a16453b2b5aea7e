// The context menu of a session or project: a popover at the click, navigated with arrow keys.

import { i18n } from "@lingui/core";
import {
  Archive,
  Download,
  Eraser,
  Folder,
  Pencil,
  Pin,
  PinOff,
  Share2,
  Shrink,
  SquareCheck,
  Tag,
  Trash2,
  Undo2,
} from "lucide-react";
import { useEffect, useLayoutEffect, useRef, type KeyboardEvent, type ReactNode } from "react";

import { archive, compact, pin, putBack, trash } from "../sessions/acts";
import { ask, closeMenu, type Menu as Asked } from "../sessions/asked";
import { exportPath, type ExportFormat } from "../sessions/exports";
import { lineOf } from "../sessions/lists";
import { toggle } from "../sessions/picked";
import { shelfOf, type Line, type Project } from "../sessions/types";

/** The smallest distance to the edge of the window, in pixels. */
const EDGE = 8;

export default function Menu({ asked }: { asked: Asked }) {
  const line = "session" in asked.of ? lineOf(asked.of.session) : undefined;
  useEffect(() => {
    if ("session" in asked.of && line === undefined) closeMenu();
  });
  if ("project" in asked.of) {
    return (
      <Popover asked={asked} label={i18n.t("Project {name}", { name: asked.of.project.name })}>
        <ProjectItems project={asked.of.project} />
      </Popover>
    );
  }
  if (line === undefined) return null;
  return (
    <Popover asked={asked} label={line.title ?? i18n.t("New session")}>
      <SessionItems line={line} />
    </Popover>
  );
}

function Popover({ asked, label, children }: { asked: Asked; label: string; children: ReactNode }) {
  const menu = useRef<HTMLDivElement>(null);
  const { x, y } = asked;
  useLayoutEffect(() => {
    const node = menu.current;
    if (node === null) return;
    node.showPopover();
    const { width, height } = node.getBoundingClientRect();
    node.style.left = `${Math.max(EDGE, Math.min(x, window.innerWidth - width - EDGE))}px`;
    node.style.top = `${Math.max(EDGE, Math.min(y, window.innerHeight - height - EDGE))}px`;
    items(node)[0]?.focus();
  }, [x, y]);
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const all = items(event.currentTarget);
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Tab") event.currentTarget.hidePopover();
    if (next === undefined) return;
    event.preventDefault();
    all.at(next % all.length)?.focus();
  };
  return (
    <div
      ref={menu}
      popover="auto"
      className="menu"
      role="menu"
      aria-label={label}
      onKeyDown={press}
      onClick={(event) => {
        if ((event.target as HTMLElement).closest("[role=menuitem]")) event.currentTarget.hidePopover();
      }}
      onToggle={(event) => {
        if (event.newState === "closed") closeMenu();
      }}
    >
      {children}
    </div>
  );
}

function items(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
}

interface ItemProps {
  icon: ReactNode;
  word: string;
  /** The equivalent key in the list. */
  hint?: string;
  danger?: boolean;
  act: () => void;
}

function Item({ icon, word, hint, danger = false, act }: ItemProps) {
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      className={danger ? "danger" : undefined}
      onClick={act}
    >
      {icon}
      <span className="grow">{word}</span>
      {hint !== undefined && (
        <kbd className="no-p" aria-hidden="true">
          {hint}
        </kbd>
      )}
    </button>
  );
}

function SessionItems({ line }: { line: Line }) {
  const { session } = line;
  const shelf = shelfOf(line);
  return (
    <>
      {shelf !== "trash" && (
        <Item
          icon={<Pencil aria-hidden="true" />}
          word={i18n.t("Rename")}
          act={() => ask({ kind: "rename", session })}
        />
      )}
      {shelf === "active" && (
        <>
          <Item
            icon={line.pinned ? <PinOff aria-hidden="true" /> : <Pin aria-hidden="true" />}
            word={line.pinned ? i18n.t("Unpin") : i18n.t("Pin")}
            hint="P"
            act={() => pin(line)}
          />
          <Item
            icon={<Archive aria-hidden="true" />}
            word={i18n.t("Archive")}
            hint="X"
            act={() => archive(line)}
          />
        </>
      )}
      {shelf !== "active" && (
        <Item
          icon={<Undo2 aria-hidden="true" />}
          word={shelf === "trash" ? i18n.t("Restore") : i18n.t("Unarchive")}
          hint="X"
          act={() => putBack(line)}
        />
      )}
      {shelf !== "trash" && (
        <>
          <Item
            icon={<Folder aria-hidden="true" />}
            word={i18n.t("Move to project")}
            hint="M"
            act={() => ask({ kind: "move", sessions: [session] })}
          />
          <Item
            icon={<Tag aria-hidden="true" />}
            word={i18n.t("Tags")}
            act={() => ask({ kind: "tags", sessions: [session] })}
          />
          <Item
            icon={<Share2 aria-hidden="true" />}
            word={i18n.t("Share")}
            act={() => ask({ kind: "share", session })}
          />
          <Item
            icon={<Shrink aria-hidden="true" />}
            word={i18n.t("Compact context")}
            act={() => compact(session)}
          />
          <Item
            icon={<Eraser aria-hidden="true" />}
            word={i18n.t("Clear conversation")}
            act={() => ask({ kind: "clear", session })}
          />
        </>
      )}
      <Item
        icon={<SquareCheck aria-hidden="true" />}
        word={i18n.t("Select")}
        hint="Space"
        act={() => toggle(session)}
      />
      <hr />
      <Export session={session} format="markdown" word={i18n.t("Export as Markdown")} />
      <Export session={session} format="html" word={i18n.t("Export as HTML")} />
      <Export session={session} format="json" word={i18n.t("Export as JSON")} />
      <hr />
      {shelf === "trash" ? (
        <Item
          danger
          icon={<Trash2 aria-hidden="true" />}
          word={i18n.t("Delete permanently")}
          hint="Del"
          act={() => ask({ kind: "erase", sessions: [session] })}
        />
      ) : (
        <Item
          icon={<Trash2 aria-hidden="true" />}
          word={i18n.t("Move to trash")}
          hint="Del"
          act={() => trash(line)}
        />
      )}
    </>
  );
}

function Export({ session, format, word }: { session: string; format: ExportFormat; word: string }) {
  return (
    <a role="menuitem" tabIndex={-1} href={exportPath(session, format)} download>
      <Download aria-hidden="true" />
      <span className="grow">{word}</span>
    </a>
  );
}

function ProjectItems({ project }: { project: Project }) {
  return (
    <>
      <Item
        icon={<Pencil aria-hidden="true" />}
        word={i18n.t("Rename project")}
        act={() => ask({ kind: "project", project })}
      />
      <Item
        danger
        icon={<Trash2 aria-hidden="true" />}
        word={i18n.t("Delete project")}
        act={() => ask({ kind: "remove_project", project })}
      />
    </>
  );
}
