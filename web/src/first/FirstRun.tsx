// The first steps. The server's state decides which are done; the user can dismiss them.

import { i18n } from "@lingui/core";
import { Check } from "lucide-react";
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";

import { ask } from "../api/client";
import { newSession } from "../sessions/begin";
import { modelPath, TEST_PATIENCE } from "../settings/Models";
import { prefer } from "../settings/preferences";
import { Problem, Slow, useDoing } from "../shell/doing";
import { useKnown } from "../shell/use";
import { read, tryWrite } from "../storage/local";

/** The storage key of the model that passed its test on this device. */
const ANSWERED = "answered";

export function FirstRun() {
  const doing = useDoing();
  const user = useKnown(({ user }) => user);
  const said = useKnown(({ list }) => (list?.length ?? 0) > 0);
  const first = useKnown(({ models }) => models[0]?.name);
  const [answered, setAnswered] = useState(() => read(ANSWERED));
  // A test costs money at most providers, so a model that passed once isn't tested again.
  const answers = first !== undefined && answered === first;
  const heard = useCallback((name: string) => {
    tryWrite(ANSWERED, name);
    setAnswered(name);
  }, []);
  const canSignIn = user?.has_password === true || (user?.passkeys ?? 0) > 0;
  const end = () =>
    doing.run(i18n.t("Couldn't save: the server is unreachable."), () => prefer({ first_run_done: true }));
  const all = answers && canSignIn && said;
  return (
    <section className="first" aria-labelledby="first">
      <h2 id="first">{i18n.t("Get started")}</h2>
      <ol>
        <ChooseModel first={first} answers={answers} heard={heard} />
        <Step
          done={canSignIn}
          title={i18n.t("Set a passkey or password")}
          told={i18n.t("So you can sign in from your phone or another browser.")}
        >
          <Link href="/settings/access" className="btn sm">
            {i18n.t("Set up")}
          </Link>
        </Step>
        <SaySomething done={said} />
      </ol>
      <div className="do">
        <button type="button" className="btn" disabled={doing.busy} onClick={() => void end()}>
          {all ? i18n.t("Done") : i18n.t("Not now")}
        </button>
        {!all && <span className="dim">{i18n.t("You can do all of this later in Settings.")}</span>}
      </div>
      <Problem of={doing} />
    </section>
  );
}

interface StepProps {
  done: boolean;
  title: string;
  told: string;
  children: ReactNode;
}

function Step({ done, title, told, children }: StepProps) {
  return (
    <li data-done={done}>
      <b>
        {title}
        {done && (
          <span className="good">
            <Check aria-hidden="true" /> {i18n.t("Done")}
          </span>
        )}
      </b>
      <span className="dim">{told}</span>
      {!done && <div className="do">{children}</div>}
    </li>
  );
}

interface ChooseProps {
  first: string | undefined;
  answers: boolean;
  heard: (name: string) => void;
}

/** Done when the default model has answered a test. */
function ChooseModel({ first, answers, heard }: ChooseProps) {
  const doing = useDoing();
  const [told, setTold] = useState<string>();
  const { run } = doing;
  useEffect(() => {
    if (first === undefined || answers) return;
    let left = false;
    void run(i18n.t("Couldn't test the model: the server is unreachable."), async () => {
      const answer = await ask<{ ok: boolean; told: string }>("POST", `${modelPath(first)}/test`, {
        patience: TEST_PATIENCE,
      });
      if (left) return;
      setTold(answer.ok ? undefined : answer.told);
      if (answer.ok) heard(first);
    });
    return () => {
      left = true;
    };
  }, [first, answers, run, heard]);
  return (
    <Step
      done={answers}
      title={i18n.t("Choose a model")}
      told={
        first === undefined
          ? i18n.t("The agent needs a model to answer.")
          : answers
            ? i18n.t("{name} is ready.", { name: first })
            : i18n.t("Testing {name}…", { name: first })
      }
    >
      <Link href="/settings/models" className="btn sm">
        {first === undefined ? i18n.t("Add model") : i18n.t("Manage models")}
      </Link>
      <Slow on={doing.busy}>{i18n.t("Waiting for the model to respond…")}</Slow>
      {told !== undefined && <p className="err">{told}</p>}
      <Problem of={doing} />
    </Step>
  );
}

function SaySomething({ done }: { done: boolean }) {
  return (
    <Step
      done={done}
      title={i18n.t("Send your first message")}
      told={i18n.t("Every message is saved to disk before it appears.")}
    >
      <button type="button" className="btn sm" onClick={() => newSession()}>
        {i18n.t("Start a session")}
      </button>
    </Step>
  );
}
