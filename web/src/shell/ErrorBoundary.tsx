// Confines an error to the block, turn or view that threw it. The rest of the page keeps working.

import { i18n } from "@lingui/core";
import { Component, useState, type ReactNode } from "react";

import { copy } from "./copy";

/** An error in a part of the page. */
export interface Failure {
  error: unknown;
  retry: () => void;
}

interface Props {
  children: ReactNode;
  /** Renders in place of the children after an error. */
  fallback: (failure: Failure) => ReactNode;
  /** The children render again when this changes. */
  of?: unknown;
}

interface State {
  failed: boolean;
  error?: unknown;
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { failed: false };

  static getDerivedStateFromError(error: unknown): State {
    return { failed: true, error };
  }

  override componentDidUpdate(before: Props): void {
    if (this.state.failed && before.of !== this.props.of) this.retry();
  }

  private readonly retry = () => this.setState({ failed: false, error: undefined });

  override render(): ReactNode {
    const { children, fallback } = this.props;
    return this.state.failed ? fallback({ error: this.state.error, retry: this.retry }) : children;
  }
}

/** Renders a view, or an error message with Reload and Try again if it throws. */
export function ViewBoundary({ children, of }: { children: ReactNode; of?: unknown }) {
  return (
    <ErrorBoundary of={of} fallback={(failure) => <ViewFailed {...failure} />}>
      {children}
    </ErrorBoundary>
  );
}

export function ViewFailed({ error, retry }: Failure) {
  return (
    <div className="failed" role="alert">
      <p>
        {i18n.t("Something went wrong. Your messages and drafts are saved. Try again, or reload the page.")}
      </p>
      <div className="do">
        <button type="button" className="btn pri" onClick={() => location.reload()}>
          {i18n.t("Reload")}
        </button>
        <button type="button" className="btn" onClick={retry}>
          {i18n.t("Try again")}
        </button>
        <CopyDetails error={error} />
      </div>
    </div>
  );
}

function CopyDetails({ error }: { error: unknown }) {
  const [done, setDone] = useState<string>();
  const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const take = () =>
    copy(`${location.pathname}\n${navigator.userAgent}\n${details}`).then(
      () => setDone(i18n.t("Copied.")),
      () => setDone(i18n.t("Couldn't copy.")),
    );
  return (
    <button type="button" className="btn ghost" onClick={() => void take()}>
      {done ?? i18n.t("Copy details")}
    </button>
  );
}
