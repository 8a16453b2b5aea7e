import { Component, type ReactNode, type RefObject } from "react";

interface Props {
  scroller: RefObject<HTMLElement | null>;
  /** The first turn. When it changes, older turns were inserted above. */
  first: number | undefined;
  children: ReactNode;
}

interface Line {
  node: Element;
  top: number;
}

/**
 * Keeps the scroll position when older turns are inserted above. Browsers anchor scrolling themselves, but not
 * at the very top, where older turns load.
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
