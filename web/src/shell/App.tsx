import { i18n } from "@lingui/core";
import { lazy, Suspense, useEffect } from "react";
import { Route, Switch, useLocation, useRoute } from "wouter";

import { isSessionId } from "../commands/places";
import { Conversation } from "../conversation/Conversation";
import { Nowhere } from "../conversation/Nowhere";
import { StoreStrip } from "../server/StoreStrip";
import { newSession } from "../sessions/begin";
import { Sidebar } from "../sidebar/Sidebar";
import { VIEWS } from "../sidebar/Views";
import { Announcer } from "./Announcer";
import { Hello } from "./Hello";
import { SignIn } from "./SignIn";
import { useRegions } from "./regions";
import { useKnown } from "./use";

const Settings = lazy(() => import("../settings/Settings"));
const ServerPage = lazy(() => import("../server/ServerPage"));
const Timeline = lazy(() => import("../timeline/Timeline"));

const Shared = lazy(() => import("../share/Shared"));

export function App() {
  const user = useKnown(({ user }) => user);
  const [path] = useLocation();
  // A link is read by who has no login, so nobody is asked for one.
  const [, shared] = useRoute("/shared/:secret");
  useRegions();
  if (shared !== null) {
    return (
      <Suspense>
        <Shared secret={shared.secret} />
      </Suspense>
    );
  }
  if (user === undefined) return <p className="loading">{i18n.t("Opening…")}</p>;
  if (user === null) return <SignIn />;
  return (
    <div className="app" data-route={path === "/" || path in VIEWS ? "list" : "session"}>
      <StoreStrip />
      <Sidebar />
      <main className="main">
        <Switch>
          <Route path="/s/:session">
            {({ session }) =>
              isSessionId(session) ? (
                <Conversation key={session} session={session} />
              ) : (
                <Nowhere why={i18n.t("This address is not that of a session.")} />
              )
            }
          </Route>
          <Route path="/s/:session/timeline">
            {({ session }) =>
              isSessionId(session) ? (
                <Suspense>
                  <Timeline key={session} session={session} />
                </Suspense>
              ) : (
                <Nowhere why={i18n.t("This address is not that of a session.")} />
              )
            }
          </Route>
          <Route path="/new">
            <New />
          </Route>
          <Route path="/settings/:page?">
            {({ page }) => (
              <Suspense>
                <Settings page={page} />
              </Suspense>
            )}
          </Route>
          <Route path="/server">
            <Suspense>
              <ServerPage />
            </Suspense>
          </Route>
          <Route>
            <Welcome />
          </Route>
        </Switch>
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
