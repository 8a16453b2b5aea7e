// Markdown as elements. No text ever becomes HTML: what a model writes as HTML is shown as the text it is.

import { i18n } from "@lingui/core";
import type { Token, Tokens } from "marked";
import { Fragment, memo, useContext, useRef, type ReactNode } from "react";

import { Cuts } from "../conversation/Cuts";
import type { Interruption, Marker } from "../log/types";
import { Code } from "./Code";
import { Diagram } from "./Diagram";
import { FormulaView, Growing } from "./FormulaView";
import { NOTHING, grow, isClosed, type Block, type Blocks } from "./blocks";
import type { Formula } from "./maths";

interface Props {
  text: string;
  live?: boolean;
  /** Where the text was interrupted before it was continued. */
  cuts?: readonly Interruption[];
}

/** Prose; that of a live answer may still grow at its end. */
export function Markdown({ text, live = false, cuts = [] }: Props) {
  const known = useRef<Blocks>(NOTHING);
  known.current = grow(known.current, text);
  const { settled, open } = known.current;
  const blocks = [...settled, ...open];
  const knots = knotsOf(text, blocks, cuts);
  return (
    <div className="prose">
      {blocks.map((block, at) => (
        <Growing key={block.at} value={live && at === blocks.length - 1}>
          <Cuts of={knots.get(block) ?? []} />
          <OneBlock block={block} />
        </Growing>
      ))}
    </div>
  );
}

/** The block in which each interruption happened. */
function knotsOf(
  text: string,
  blocks: readonly Block[],
  cuts: readonly Interruption[],
): Map<Block, Marker[]> {
  const knots = new Map<Block, Marker[]>();
  for (const { offset, marker } of cuts) {
    const end = placeOf(text, offset);
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

/** The same element while it is open and when it is settled, so that nothing is drawn anew. */
const OneBlock = memo(function OneBlock({ block }: { block: Block }) {
  return draw(block.token);
});

function draw(token: Token): ReactNode {
  switch (token.type) {
    case "heading":
      return <Heading depth={(token as Tokens.Heading).depth}>{inline(token)}</Heading>;
    case "paragraph":
      return <p>{inline(token)}</p>;
    case "text":
      return "tokens" in token && token.tokens !== undefined ? <>{inline(token)}</> : plain(token);
    case "code":
      return code(token as Tokens.Code);
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return <List token={token as Tokens.List} />;
    case "table":
      return <Table token={token as Tokens.Table} />;
    case "formula":
      return formula(token as Formula);
    case "hr":
      return <hr />;
    case "html":
      return <p className="raw">{token.raw}</p>;
    case "space":
    case "def":
    // The box of a task stands at the beginning of its item.
    case "checkbox":
      return null;
    default:
      return <p>{token.raw}</p>;
  }
}

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) => <Fragment key={at}>{draw(token)}</Fragment>);
}

/** Headings of an answer stand below the page's own. */
function Heading({ depth, children }: { depth: number; children: ReactNode }) {
  const Level = (["h3", "h4", "h5", "h6"] as const)[Math.min(depth, 4) - 1] ?? "h6";
  return <Level>{children}</Level>;
}

function code(token: Tokens.Code): ReactNode {
  const language = token.lang?.split(/\s/)[0] ?? "";
  const Block = language === "mermaid" ? Diagram : Code;
  return <Block language={language} text={token.text} closed={isClosed(token)} />;
}

/** One without an end is no formula, and stands as it was written. */
function formula(token: Formula): ReactNode {
  if (!token.closed) return <p className="raw">{token.raw}</p>;
  return <FormulaView token={token} />;
}

function List({ token }: { token: Tokens.List }) {
  const items = token.items.map((item, at) => (
    <li key={at} className={item.task ? "task" : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked ?? false} disabled aria-label={i18n.t("Task")} />
      )}
      <GrowsAtEnd last={at === token.items.length - 1}>
        {item.task ? <div>{blocks(item.tokens)}</div> : blocks(item.tokens)}
      </GrowsAtEnd>
    </li>
  ));
  if (!token.ordered) return <ul>{items}</ul>;
  return <ol start={token.start === "" ? undefined : token.start}>{items}</ol>;
}

/** Of a list that grows only the last item does. */
function GrowsAtEnd({ last, children }: { last: boolean; children: ReactNode }) {
  const growing = useContext(Growing);
  return <Growing value={growing && last}>{children}</Growing>;
}

function Table({ token }: { token: Tokens.Table }) {
  const cell = (align: Tokens.TableCell["align"]) => (align === null ? undefined : { textAlign: align });
  return (
    <div className="table" tabIndex={0} role="group" aria-label={i18n.t("Table")}>
      <table>
        <thead>
          <tr>
            {token.header.map((head, at) => (
              <th key={at} style={cell(head.align)}>
                {inline(head)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>
              {row.map((data, column) => (
                <td key={column} style={cell(data.align)}>
                  {inline(data)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(token: { tokens?: Token[] | undefined }): ReactNode {
  return (token.tokens ?? []).map((child, at) => <Fragment key={at}>{span(child)}</Fragment>);
}

function span(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token as Tokens.Strong)}</strong>;
    case "em":
      return <em>{inline(token as Tokens.Em)}</em>;
    case "del":
      return <del>{inline(token as Tokens.Del)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "formula":
      return <FormulaView token={token as Formula} />;
    case "br":
      return <br />;
    case "checkbox":
      return null;
    case "link":
      return <Link token={token as Tokens.Link} />;
    case "image":
      return <Image token={token as Tokens.Image} />;
    case "text":
    case "escape":
      return "tokens" in token && token.tokens !== undefined ? inline(token) : plain(token);
    default:
      return token.raw;
  }
}

/** A token's words, without the escapes that the reader of markdown adds for HTML. */
function plain(token: Token): string {
  return "text" in token && typeof token.text === "string" ? unescaped(token.text) : token.raw;
}

function unescaped(text: string): string {
  const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => entities[name] ?? whole);
}

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** An address that may be gone to; anything else is shown as text. */
export function safeAddress(text: string): string | undefined {
  try {
    const url = new URL(text);
    return SCHEMES.has(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

function Link({ token }: { token: Tokens.Link }) {
  const href = safeAddress(token.href);
  if (href === undefined) return <>{token.raw}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {inline(token)}
    </a>
  );
}

/** A picture from elsewhere tells its host who reads: its address is shown, and nothing is fetched. */
function Image({ token }: { token: Tokens.Image }) {
  const href = safeAddress(token.href);
  const name = token.text === "" ? i18n.t("Picture") : token.text;
  if (href === undefined) return <>{token.raw}</>;
  return (
    <a className="picture" href={href} target="_blank" rel="noopener noreferrer nofollow">
      {name} ({new URL(href).host})
    </a>
  );
}
