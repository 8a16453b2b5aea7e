// Renders inline Markdown tokens as elements.

import { i18n } from "@lingui/core";
import type { Token, Tokens } from "marked";
import { Fragment, type ReactNode } from "react";

import { FormulaView } from "./FormulaView";
import { decoded } from "./entities";
import type { Formula } from "./maths";

/** The only HTML element that is rendered: a table cell has no other way to break a line. */
const LINE_BREAK = /^<br\s*\/?>$/i;

/** Renders the inline tokens of a block. */
export function inline(token: { tokens?: Token[] | undefined }): ReactNode {
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
      return <code dir="ltr">{(token as Tokens.Codespan).text}</code>;
    case "formula":
      return <FormulaView token={token as Formula} />;
    case "br":
      return <br />;
    case "html":
      return LINE_BREAK.test(token.raw) ? <br /> : token.raw;
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

/** Returns the text of a token. The lexer leaves character references undecoded. */
export function plain(token: Token): string {
  return "text" in token && typeof token.text === "string" ? decoded(token.text) : token.raw;
}

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** Returns an address that is safe to link to. Any other address is shown as text. */
export function safeAddress(text: string): string | undefined {
  try {
    const url = new URL(text);
    return SCHEMES.has(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

function Link({ token }: { token: Tokens.Link }) {
  // A bare URL contains no character references.
  const href = safeAddress(token.autolink === true ? token.href : decoded(token.href));
  if (href === undefined) return <>{token.raw}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {token.autolink === true ? token.text : inline(token)}
    </a>
  );
}

/** An image, shown as a link. Loading a remote image would reveal the reader to its host. */
function Image({ token }: { token: Tokens.Image }) {
  const href = safeAddress(decoded(token.href));
  const name = token.text === "" ? i18n.t("Image") : decoded(token.text);
  if (href === undefined) return <>{token.raw}</>;
  return (
    <a className="picture" href={href} target="_blank" rel="noopener noreferrer nofollow">
      {name} ({new URL(href).host})
    </a>
  );
}
