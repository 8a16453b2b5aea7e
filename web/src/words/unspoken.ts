// Finds user-visible text that bypasses the catalogues. Used by a test only.

import ts from "typescript";

/** Attributes that users see or hear. */
const READ = new Set(["aria-label", "aria-description", "title", "placeholder", "alt", "label"]);
/** Functions that take text, with the index of that argument. */
const TOLD: Record<string, number> = { announce: 0, attempt: 0, why: 1 };
const LETTERS = /\p{L}{2}/u;

/** Whether a file may contain user-visible text. */
export function maySpeak(code: string): boolean {
  return /<\/|\/>|\b(announce|attempt|why)\(/.test(code);
}

/** Returns each finding as `file:line: text`. */
export function unspoken(name: string, code: string): string[] {
  const found: string[] = [];
  const file = ts.createSourceFile(name, code, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const add = (node: ts.Node, text: string) => {
    if (!LETTERS.test(text)) return;
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${name}:${line + 1}: ${text}`);
  };
  /** Adds the texts that an expression may evaluate to. */
  const texts = (node: ts.Node | undefined): void => {
    if (node === undefined) return;
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) add(node, node.text);
    else if (ts.isTemplateExpression(node)) {
      add(
        node,
        [node.head, ...node.templateSpans.map(({ literal }) => literal)].map((part) => part.text).join(""),
      );
    } else if (ts.isConditionalExpression(node)) [node.whenTrue, node.whenFalse].forEach(texts);
    else if (ts.isBinaryExpression(node)) {
      texts(node.right);
      if (node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) texts(node.left);
    } else if (ts.isParenthesizedExpression(node) || ts.isJsxExpression(node)) texts(node.expression);
  };
  const look = (node: ts.Node): void => {
    if (ts.isJsxText(node)) add(node, node.text.trim());
    else if (ts.isJsxAttribute(node)) {
      if (READ.has(node.name.getText())) texts(node.initializer);
    } else if (ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent)) texts(node);
    else if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      const at = TOLD[node.expression.text];
      if (at !== undefined) texts(node.arguments[at]);
    }
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}
