// The first minutes: three steps, each ticked by what the server says. They can be left and come back.

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

/** Where this device keeps which model answered. */
const ANSWERED = "answered";

export function FirstRun() {
  const doing = useDoing();
  const user = useKnown(({ user }) => user);
  const said = useKnown(({ list }) => (list?.length ?? 0) > 0);
  const first = useKnown(({ models }) => models[0]?.name);
  const [answered, setAnswered] = useState(() => read(ANSWERED));
  // Asking costs something at most providers: one that has answered here is believed.
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
      <h2 id="first">{i18n.t("Three steps to begin")}</h2>
      <ol>
        <ChooseModel first={first} answers={answers} heard={heard} />
        <Step
          done={canSignIn}
          title={i18n.t("Set a passkey or a password for your other devices")}
          told={i18n.t("So that you get in from a phone, or after this browser forgets.")}
        >
          <Link href="/settings/access" className="btn sm">
            {i18n.t("Set it")}
          </Link>
        </Step>
        <SaySomething done={said} />
      </ol>
      <div className="do">
        <button type="button" className="btn" disabled={doing.busy} onClick={() => void end()}>
          {all ? i18n.t("Done") : i18n.t("Not now")}
        </button>
        {!all && <span className="dim">{i18n.t("All of it is in the settings too.")}</span>}
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

/** Ticked when the first model has said something. */
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
          ? i18n.t("The agent needs one to answer with.")
          : answers
            ? i18n.t("{name} answers.", { name: first })
            : i18n.t("{name} is asked for a word.", { name: first })
      }
    >
      <Link href="/settings/models" className="btn sm">
        {first === undefined ? i18n.t("Add one") : i18n.t("Look at the models")}
      </Link>
      <Slow on={doing.busy}>{i18n.t("Waiting for the model to say something…")}</Slow>
      {told !== undefined && <p className="err">{told}</p>}
      <Problem of={doing} />
    </Step>
  );
}

function SaySomething({ done }: { done: boolean }) {
  return (
    <Step done={done} title={i18n.t("Say something")} told={i18n.t("It is kept before you see it.")}>
      <button type="button" className="btn sm" onClick={() => newSession()}>
        {i18n.t("Begin a session")}
      </button>
    </Step>
  );
}
