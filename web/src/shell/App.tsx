import { i18n } from "@lingui/core";
import { useEffect } from "react";
import { Route, Switch, useLocation, useRoute } from "wouter";

import { isSessionId } from "../commands/places";
import { Conversation } from "../conversation/Conversation";
import { Nowhere } from "../conversation/Nowhere";
import { StoreStrip } from "../server/StoreStrip";
import { newSession } from "../sessions/begin";
import { Sidebar } from "../sidebar/Sidebar";
import { VIEWS } from "../sidebar/Views";
import { Announcer } from "./Announcer";
import { ViewBoundary } from "./ErrorBoundary";
import { Hello } from "./Hello";
import { SignIn } from "./SignIn";
import { lazily } from "./lazily";
import { useRegions } from "./regions";
import { useKnown } from "./use";

const Settings = lazily(() => import("../settings/Settings"));
const ServerPage = lazily(() => import("../server/ServerPage"));
const Timeline = lazily(() => import("../timeline/Timeline"));

const Shared = lazily(() => import("../share/Shared"));

export function App() {
  const user = useKnown(({ user }) => user);
  const [path] = useLocation();
  // A link is read by who has no login, so nobody is asked for one.
  const [, shared] = useRoute("/shared/:secret");
  useRegions();
  if (shared !== null) {
    return <Shared secret={shared.secret} />;
  }
  if (user === undefined) return <p className="loading">{i18n.t("Opening…")}</p>;
  if (user === null) return <SignIn />;
  return (
    <div className="app" data-route={path === "/" || path in VIEWS ? "list" : "session"}>
      <StoreStrip />
      <ViewBoundary>
        <Sidebar />
      </ViewBoundary>
      <main className="main">
        <ViewBoundary of={path}>
          <Switch>
            <Route path="/s/:session">
              {({ session }) =>
                isSessionId(session) ? (
                  <Conversation key={session} session={session} />
                ) : (
                  <Nowhere why={i18n.t("This address doesn't lead to a session. Check it and try again.")} />
                )
              }
            </Route>
            <Route path="/s/:session/timeline">
              {({ session }) =>
                isSessionId(session) ? (
                  <Timeline key={session} session={session} />
                ) : (
                  <Nowhere why={i18n.t("This address doesn't lead to a session. Check it and try again.")} />
                )
              }
            </Route>
            <Route path="/new">
              <New />
            </Route>
            <Route path="/settings/:page?">{({ page }) => <Settings page={page} />}</Route>
            <Route path="/server">
              <ServerPage />
            </Route>
            <Route>
              <Welcome />
            </Route>
          </Switch>
        </ViewBoundary>
      </main>
      <Announcer />
    </div>
  );
}

/** An address for a new session, to keep as a bookmark. */
function New() {
  useEffect(() => newSession({ replace: true }), []);
  return null;
}

function Welcome() {
  return (
    <div className="thread">
      <div className="col push hello">
        <Hello level="h1" />
      </div>
    </div>
  );
}
