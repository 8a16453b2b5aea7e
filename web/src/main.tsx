import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { begin } from "./live/store";
import { appearance, show } from "./settings/appearance";
import { App } from "./shell/App";
import "./styles/app.css";

const root = document.getElementById("root");
if (root !== null) {
  show(appearance());
  void begin();
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
