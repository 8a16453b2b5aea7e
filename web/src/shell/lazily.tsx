// Parts of the page that load on first use. A part that fails to load says so, and loads when the server is back.

import { i18n } from "@lingui/core";
import { Suspense, use, useEffect, useState, type ComponentType, type ReactNode } from "react";

import { ErrorBoundary, ViewFailed, type Failure } from "./ErrorBoundary";
import { loadWithRetry } from "./load";
import { useKnown } from "./use";

/** Delay before the page says that a part is still loading, in milliseconds. */
const LATE = 700;

interface Module<Props> {
  default: ComponentType<Props>;
}

interface Options<Props> {
  /** Closes a part that opens over the page. */
  close?: (props: Props) => void;
  /** Renders while the part loads. */
  loading?: ReactNode;
}

/** Returns a component that loads on first use, and retries until it is loaded. */
export function lazily<Props extends object>(
  load: () => Promise<Module<Props>>,
  { close, loading }: Options<Props> = {},
): ComponentType<Props> {
  let module: Promise<Module<Props>> | undefined;
  function Loaded(props: Props) {
    const { default: Part } = use((module ??= loadWithRetry(load)));
    return <Part {...props} />;
  }
  return function Lazy(props: Props) {
    const leave = close === undefined ? undefined : () => close(props);
    return (
      <ErrorBoundary fallback={(failure) => <Failed {...failure} close={leave} />}>
        <Suspense fallback={<Late close={leave}>{loading}</Late>}>
          <Loaded {...props} />
        </Suspense>
      </ErrorBoundary>
    );
  };
}

function Failed({ close, ...failure }: Failure & { close: (() => void) | undefined }) {
  if (close === undefined) return <ViewFailed {...failure} />;
  return (
    <div className="late over" role="alert">
      <p>
        {i18n.t("Something went wrong here. Your messages and drafts are saved. Close this and try again.")}
      </p>
      <div className="do">
        <button type="button" className="btn sm" onClick={close}>
          {i18n.t("Close")}
        </button>
      </div>
    </div>
  );
}

function Late({ close, children }: { close?: (() => void) | undefined; children: ReactNode }) {
  const [late, setLate] = useState(false);
  const newer = useKnown(({ newer, outdated }) => newer || outdated);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE);
    return () => clearTimeout(timer);
  }, []);
  if (!late) return children;
  return (
    <div className={close === undefined ? "late" : "late over"} role="status">
      <p>
        {newer
          ? i18n.t(
              "The server was updated. Reload the page to open this. Your messages and drafts are saved.",
            )
          : i18n.t("Still loading. If the server is unreachable, this opens when it's back.")}
      </p>
      <div className="do">
        {close !== undefined && (
          <button type="button" className="btn sm" onClick={close}>
            {i18n.t("Close")}
          </button>
        )}
        <button type="button" className="btn sm ghost" onClick={() => location.reload()}>
          {i18n.t("Reload")}
        </button>
      </div>
    </div>
  );
}
