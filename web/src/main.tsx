import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { begin } from "./live/store";
import { App } from "./shell/App";
import "./styles/app.css";

const root = document.getElementById("root");
if (root !== null) {
  // Who reads by a link is nobody, and follows nothing.
  if (!location.pathname.startsWith("/shared/")) void begin();
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
