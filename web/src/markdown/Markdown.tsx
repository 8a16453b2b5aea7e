// Markdown as elements. No text ever becomes HTML: what a model writes as HTML is shown as the text it is.

import { i18n } from "@lingui/core";
import type { Token, Tokens } from "marked";
import { Fragment, memo, useContext, useState, type ReactNode } from "react";

import { Cuts } from "../conversation/Cuts";
import type { Interruption, Marker } from "../log/types";
import { ErrorBoundary } from "../shell/ErrorBoundary";
import { Code } from "./Code";
import { Diagram } from "./Diagram";
import { FormulaView, Growing } from "./FormulaView";
import { inline, plain } from "./Inline";
import { NOTHING, grow, isClosed, type Block, type Blocks } from "./blocks";
import type { Formula } from "./maths";
import { unixLines } from "./reader";

interface Props {
  text: string;
  live?: boolean;
  /** Where the text was interrupted before it was continued. */
  cuts?: readonly Interruption[];
}

/** Prose; that of a live answer may still grow at its end. */
export function Markdown({ text, live = false, cuts = [] }: Props) {
  const { settled, open } = useBlocks(text);
  const blocks = [...settled, ...open];
  const knots = knotsOf(text, blocks, cuts);
  return (
    <div className="prose">
      {blocks.map((block, at) => (
        <PlacedBlock
          key={block.at}
          block={block}
          growing={live && at === blocks.length - 1}
          knots={knots.get(block) ?? NO_KNOTS}
        />
      ))}
    </div>
  );
}

const NO_KNOTS: readonly Marker[] = [];

interface PlacedProps {
  block: Block;
  growing: boolean;
  knots: readonly Marker[];
}

/**
 * A block and the interruption markers before it. Open and settled blocks use the same element, so settling
 * does not remount.
 */
const PlacedBlock = memo(function PlacedBlock({ block, growing, knots }: PlacedProps) {
  return (
    <Growing value={growing}>
      <Cuts of={knots} />
      <ErrorBoundary of={block} fallback={() => <Raw text={block.token.raw} />}>
        <OneBlock block={block} />
      </ErrorBoundary>
    </Growing>
  );
});

/** Returns the blocks of a text. They depend on the text alone; the previous blocks only save work. */
function useBlocks(text: string): Blocks {
  const [known, setKnown] = useState(NOTHING);
  const blocks = grow(known, text);
  // React re-renders at once with the new state, and discards it together with a discarded render.
  if (blocks !== known) setKnown(blocks);
  return blocks;
}

/** The block in which each interruption happened. */
function knotsOf(
  text: string,
  blocks: readonly Block[],
  cuts: readonly Interruption[],
): Map<Block, Marker[]> {
  const knots = new Map<Block, Marker[]>();
  for (const { offset, marker } of cuts) {
    const end = unixLines(text.slice(0, placeOf(text, offset))).length;
    const block = blocks.findLast(({ at }) => at < end) ?? blocks[0];
    if (block !== undefined) knots.set(block, [...(knots.get(block) ?? []), marker]);
  }
  return knots;
}

/** Where a text goes on behind so many characters. */
function placeOf(text: string, characters: number): number {
  let place = 0;
  let count = 0;
  for (const letter of text) {
    if (count === characters) break;
    count += 1;
    place += letter.length;
  }
  return place;
}

/** A component of its own, so that the boundary around it catches its errors. */
const OneBlock = memo(function OneBlock({ block }: { block: Block }) {
  return draw(block.token, "auto");
});

/**
 * Renders a block. Without `dir` it inherits the direction of its item or quotation, whose `auto` ignores
 * descendants that have a `dir`.
 */
function draw(token: Token, dir?: "auto"): ReactNode {
  switch (token.type) {
    case "heading":
      return <Heading token={token as Tokens.Heading} dir={dir} />;
    case "paragraph":
      return <p dir={dir}>{inline(token)}</p>;
    case "text":
      return "tokens" in token && token.tokens !== undefined ? <>{inline(token)}</> : plain(token);
    case "code":
      return code(token as Tokens.Code);
    case "blockquote":
      return <blockquote dir="auto">{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return <List token={token as Tokens.List} />;
    case "table":
      return <Table token={token as Tokens.Table} />;
    case "formula":
      return formula(token as Formula);
    case "hr":
      return <hr />;
    case "html":
      return <Raw text={token.raw} />;
    case "space":
    case "def":
    // The box of a task stands at the beginning of its item.
    case "checkbox":
      return null;
    default:
      return <Raw text={token.raw} />;
  }
}

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) => <Fragment key={at}>{draw(token)}</Fragment>);
}

/** Headings of an answer stand below the page's own. */
function Heading({ token, dir }: { token: Tokens.Heading; dir: "auto" | undefined }) {
  const Level = (["h3", "h4", "h5", "h6"] as const)[Math.min(token.depth, 4) - 1] ?? "h6";
  return <Level dir={dir}>{inline(token)}</Level>;
}

/** The source text, unformatted. */
function Raw({ text }: { text: string }) {
  return (
    <p className="raw" dir="auto">
      {text}
    </p>
  );
}

function code(token: Tokens.Code): ReactNode {
  const language = token.lang?.split(/\s/)[0] ?? "";
  const Block = language === "mermaid" ? Diagram : Code;
  return <Block language={language} text={token.text} closed={isClosed(token)} />;
}

/** One without an end is no formula, and stands as it was written. */
function formula(token: Formula): ReactNode {
  if (!token.closed) return <Raw text={token.raw} />;
  return <FormulaView token={token} />;
}

function List({ token }: { token: Tokens.List }) {
  const items = token.items.map((item, at) => (
    <Item key={at} item={item} last={at === token.items.length - 1} />
  ));
  if (!token.ordered) return <ul>{items}</ul>;
  return <ol start={token.start === "" ? undefined : token.start}>{items}</ol>;
}

/** An unchanged item keeps its token, so a growing list re-renders only its end. */
const Item = memo(function Item({ item, last }: { item: Tokens.ListItem; last: boolean }) {
  return (
    <li className={item.task ? "task" : undefined} dir="auto">
      {item.task && (
        <input type="checkbox" checked={item.checked ?? false} disabled aria-label={i18n.t("Task")} />
      )}
      <GrowsAtEnd last={last}>
        {item.task ? <div>{blocks(item.tokens)}</div> : blocks(item.tokens)}
      </GrowsAtEnd>
    </li>
  );
});

/** Of a list that grows only the last item does. */
function GrowsAtEnd({ last, children }: { last: boolean; children: ReactNode }) {
  const growing = useContext(Growing);
  return <Growing value={growing && last}>{children}</Growing>;
}

function Table({ token }: { token: Tokens.Table }) {
  return (
    <div className="table" tabIndex={0} role="group" aria-label={i18n.t("Table")}>
      <table>
        <thead>
          <Row cells={token.header} />
        </thead>
        <tbody>
          {token.rows.map((cells, at) => (
            <Row key={at} cells={cells} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Row = memo(function Row({ cells }: { cells: readonly Tokens.TableCell[] }) {
  return (
    <tr>
      {cells.map((cell, at) => {
        const Cell = cell.header ? "th" : "td";
        return (
          <Cell key={at} dir="auto" style={cell.align === null ? undefined : { textAlign: cell.align }}>
            {inline(cell)}
          </Cell>
        );
      })}
    </tr>
  );
});
