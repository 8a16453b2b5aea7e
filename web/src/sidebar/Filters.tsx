// Search filters.

import { i18n } from "@lingui/core";
import type { ReactNode } from "react";

import { useLists } from "../sessions/lists";
import { isNarrowed, NO_FILTERS, type Filters } from "./hits";

interface Props {
  filters: Filters;
  choose: (filters: Filters) => void;
}

export function FilterChoice({ filters, choose }: Props) {
  const projects = useLists(({ projects }) => projects);
  const tags = useLists(({ tags }) => tags);
  const set = <K extends keyof Filters>(key: K) => ({
    value: filters[key],
    onChange: (value: string) => choose({ ...filters, [key]: value as Filters[K] }),
  });
  return (
    <details className="filters">
      <summary>
        {i18n.t("Filters")}
        {isNarrowed(filters) && <span className="n">{i18n.t("on")}</span>}
      </summary>
      <div className="fields">
        <Choice label={i18n.t("Search in")} {...set("where")}>
          <option value="">{i18n.t("Everything except trash")}</option>
          <option value="active">{i18n.t("Not archived")}</option>
          <option value="archived">{i18n.t("Archive")}</option>
          <option value="trash">{i18n.t("Trash")}</option>
        </Choice>
        <Choice label={i18n.t("Date")} {...set("days")}>
          <option value="">{i18n.t("Any time")}</option>
          <option value="1">{i18n.t("Last day")}</option>
          <option value="7">{i18n.t("Last week")}</option>
          <option value="30">{i18n.t("Last month")}</option>
          <option value="365">{i18n.t("Last year")}</option>
        </Choice>
        <Choice label={i18n.t("Written by")} {...set("saidBy")}>
          <option value="">{i18n.t("Anyone")}</option>
          <option value="person">{i18n.t("You")}</option>
          <option value="agent">{i18n.t("Agent")}</option>
        </Choice>
        <Choice label={i18n.t("Project")} {...set("project")}>
          <option value="">{i18n.t("Any project")}</option>
          {projects.map(({ project, name }) => (
            <option key={project} value={project}>
              {name}
            </option>
          ))}
        </Choice>
        <Choice label={i18n.t("Tag")} {...set("tag")}>
          <option value="">{i18n.t("Any tag")}</option>
          {tags.map(({ tag }) => (
            <option key={tag} value={tag}>
              {tag}
            </option>
          ))}
        </Choice>
        {isNarrowed(filters) && (
          <button type="button" className="btn sm ghost" onClick={() => choose(NO_FILTERS)}>
            {i18n.t("Clear filters")}
          </button>
        )}
      </div>
    </details>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: ReactNode;
}

function Choice({ label, value, onChange, children }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {children}
      </select>
    </label>
  );
}
