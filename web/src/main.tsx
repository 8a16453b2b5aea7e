import { i18n } from "@lingui/core";
import { I18nProvider } from "@lingui/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Everywhere } from "./commands/Everywhere";
import { begin } from "./live/store";
import { appearance, show } from "./settings/appearance";
import { App } from "./shell/App";
import { ViewBoundary } from "./shell/ErrorBoundary";
import { speak } from "./words/language";
import { keepShell } from "./worker/register";
import "./styles/app.css";

const root = document.getElementById("root");
if (root !== null) {
  show(appearance());
  const spoken = speak();
  // Who reads by a link is nobody, and follows nothing.
  if (!location.pathname.startsWith("/shared/")) {
    void begin();
    keepShell();
  }
  void spoken.then(() =>
    createRoot(root).render(
      <StrictMode>
        <I18nProvider i18n={i18n}>
          <ViewBoundary>
            <App />
          </ViewBoundary>
          <ViewBoundary>
            <Everywhere />
          </ViewBoundary>
        </I18nProvider>
      </StrictMode>,
    ),
  );
}
