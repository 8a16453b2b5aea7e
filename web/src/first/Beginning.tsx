// The first steps and the break-it demo, offered to owners while no session is open.

import { i18n } from "@lingui/core";
import { useLocation } from "wouter";

import { attempt } from "../shell/attempt";
import { useKnown } from "../shell/use";
import { FirstRun } from "./FirstRun";
import { beginToBreakIt } from "./scratch";
import "../styles/settings.css";

/** `steps` is true on the home page. */
export default function Beginning({ steps }: { steps: boolean }) {
  const [, go] = useLocation();
  const preferences = useKnown(({ preferences }) => preferences);
  const begin = async () => go(`/s/${await beginToBreakIt()}`);
  return (
    <>
      {steps && preferences?.first_run_done === false && <FirstRun />}
      <div className="do">
        <button
          type="button"
          className="btn"
          onClick={() =>
            void attempt(i18n.t("Couldn't start the session: the server is unreachable."), begin())
          }
        >
          {i18n.t("Try to break it")}
        </button>
      </div>
    </>
  );
}
