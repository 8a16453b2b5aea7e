import { lazy, Suspense } from "react";
import { Route, Switch, useLocation, useRoute } from "wouter";

import { Conversation } from "../conversation/Conversation";
import { Nowhere } from "../conversation/Nowhere";
import { Sidebar } from "../sidebar/Sidebar";
import { Announcer } from "./Announcer";
import { Hello } from "./Hello";
import { SignIn } from "./SignIn";
import { useRegions } from "./regions";
import { useKnown } from "./use";

// The server says nothing about what cannot be an id, and names such as `constructor` mean something to an object.
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

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
  if (user === undefined) return <p className="loading">Opening…</p>;
  if (user === null) return <SignIn />;
  return (
    <div className="app" data-route={path === "/" ? "list" : "session"}>
      <Sidebar />
      <main className="main">
        <Switch>
          <Route path="/s/:session">
            {({ session }) =>
              ID.test(session) ? (
                <Conversation key={session} session={session} />
              ) : (
                <Nowhere why="This address is not that of a session." />
              )
            }
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

function Welcome() {
  return (
    <div className="thread">
      <div className="col push hello">
        <Hello level="h1" />
      </div>
    </div>
  );
}
