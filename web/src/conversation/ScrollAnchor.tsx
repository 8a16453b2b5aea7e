import { Component, type ReactNode, type RefObject } from "react";

interface Props {
  scroller: RefObject<HTMLElement | null>;
  /** The first turn; turns that come in above it move nothing. */
  first: number | undefined;
  children: ReactNode;
}

interface Line {
  node: Element;
  top: number;
}

/**
 * Keeps the line under a reader's eyes in its place when older turns come in above. Browsers do so by themselves, but not at
 * the very top, which is where older turns are asked for.
 */
export class ScrollAnchor extends Component<Props> {
  override getSnapshotBeforeUpdate(before: Props): Line | null {
    const area = this.props.scroller.current;
    if (before.first === this.props.first || area === null) return null;
    const { top } = area.getBoundingClientRect();
    const turns = [...area.querySelectorAll("article[data-turn]")];
    const node = turns.find((turn) => turn.getBoundingClientRect().bottom > top);
    return node === undefined ? null : { node, top: node.getBoundingClientRect().top };
  }

  override componentDidUpdate(_before: Props, _state: unknown, line: Line | null): void {
    const area = this.props.scroller.current;
    if (line === null || area === null || !line.node.isConnected) return;
    area.scrollTop += line.node.getBoundingClientRect().top - line.top;
  }

  override render(): ReactNode {
    return this.props.children;
  }
}
