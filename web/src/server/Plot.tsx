import { i18n } from "@lingui/core";
import { useId } from "react";

import { secondOf } from "../shell/days";
import { figuresOf, lineOf, type Point } from "./plot";

const BOX = { width: 300, height: 64 };
/** The table has one of this many samples. */
const TABLE_EVERY = 12;

export interface Line {
  name: string;
  points: Point[];
}

interface Props {
  title: string;
  lines: Line[];
  /** Formats a value. */
  say: (value: number) => string;
}

/** A small plot with a summary and a table of its values. */
export function Plot({ title, lines, say }: Props) {
  const id = useId();
  const top = Math.max(...lines.map(({ points }) => figuresOf(points)?.most ?? 0), 0);
  return (
    <figure className="plot">
      <figcaption id={id}>
        <h3>{title}</h3>
        {lines.map((line, at) => (
          <Words key={line.name} line={line} say={say} mark={lines.length > 1 ? at : undefined} />
        ))}
      </figcaption>
      <svg
        viewBox={`0 -2 ${BOX.width} ${BOX.height + 4}`}
        preserveAspectRatio="none"
        role="img"
        aria-labelledby={id}
      >
        <title>{title}</title>
        <line x1="0" x2={BOX.width} y1={BOX.height} y2={BOX.height} className="ground" />
        {lines.map(({ name, points }, at) => (
          <polyline key={name} points={lineOf(points, BOX, top)} className={`line-${at}`} />
        ))}
      </svg>
      <details>
        <summary>{i18n.t("Show values")}</summary>
        <Table title={title} lines={lines} say={say} />
      </details>
    </figure>
  );
}

interface WordsProps {
  line: Line;
  say: (value: number) => string;
  mark: number | undefined;
}

function Words({ line, say, mark }: WordsProps) {
  const figures = figuresOf(line.points);
  const words =
    figures === undefined
      ? i18n.t("No data yet.")
      : i18n.t("Now {now}, between {least} and {most} in the last 15 minutes.", {
          now: say(figures.now),
          least: say(figures.least),
          most: say(figures.most),
        });
  return (
    <p className="num">
      {mark !== undefined && (
        <>
          <span className={`key line-${mark}`} aria-hidden="true" />
          {line.name}:{" "}
        </>
      )}
      {words}
    </p>
  );
}

function Table({ title, lines, say }: Props) {
  const moments = lines[0]?.points ?? [];
  // Counts from the end, so that the newest sample is included.
  const shown = moments.map((_, at) => at).filter((at) => (moments.length - 1 - at) % TABLE_EVERY === 0);
  return (
    <div className="table" tabIndex={0} role="group" aria-label={title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{i18n.t("Time")}</th>
            {lines.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.toReversed().map((at) => (
            <tr key={at}>
              <th scope="row" className="num">
                {secondOf(moments[at]?.at ?? 0)}
              </th>
              {lines.map(({ name, points }) => (
                <td key={name} className="num">
                  {say(points[at]?.value ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
