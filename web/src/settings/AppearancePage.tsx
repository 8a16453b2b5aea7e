import { i18n } from "@lingui/core";
import { useState } from "react";

import { Problem, useDoing } from "../shell/doing";
import { useKnown } from "../shell/use";
import { read, tryWrite } from "../storage/local";
import { language, setLanguage } from "../words/language";
import { appearance, choose, type Appearance, type TextSize, type Theme } from "./appearance";
import { Choice, Switch } from "./Choice";
import { prefer } from "./preferences";

export function AppearancePage() {
  const [shown, setShown] = useState(appearance);
  const change = (part: Partial<Appearance>) => {
    const chosen = { ...shown, ...part };
    choose(chosen);
    setShown(chosen);
  };
  const themes: [Theme, string][] = [
    ["system", i18n.t("System")],
    ["light", i18n.t("Light")],
    ["dark", i18n.t("Dark")],
  ];
  const sizes: [TextSize, string][] = [
    ["small", i18n.t("Small")],
    ["normal", i18n.t("Normal")],
    ["large", i18n.t("Large")],
    ["largest", i18n.t("Largest")],
  ];
  return (
    <>
      <section>
        <Choice
          title={i18n.t("Theme")}
          name="theme"
          value={shown.theme}
          options={themes}
          choose={(theme) => change({ theme })}
        />
      </section>
      <section>
        <Choice
          title={i18n.t("Text size")}
          name="text"
          value={shown.text}
          options={sizes}
          choose={(text) => change({ text })}
        />
      </section>
      <Language />
      <Notifications />
    </>
  );
}

function Language() {
  const doing = useDoing();
  const [shown, setShown] = useState<"en" | "de">(() => (language() === "de" ? "de" : "en"));
  // Saves the preference first, because changing the language reloads the page.
  const change = async (code: "en" | "de") => {
    if (
      !(await doing.run(i18n.t("Couldn't save: the server is unreachable."), () =>
        prefer({ language: code }),
      ))
    )
      return;
    setShown(code);
    setLanguage(code);
  };
  return (
    <section>
      <Choice
        title={i18n.t("Language")}
        name="language"
        value={shown}
        // Each language has its own name, so that users find it whatever the page's language is.
        options={[
          ["en", "English"],
          ["de", "Deutsch"],
        ]}
        choose={(code) => {
          void change(code);
        }}
      />
      <Problem of={doing} />
    </section>
  );
}

const PLACE = "notify";

function Notifications() {
  const doing = useDoing();
  const preferred = useKnown(({ preferences }) => preferences?.notify ?? false);
  const [on, setOn] = useState(() => (read(PLACE) ?? (preferred ? "yes" : "no")) === "yes");
  const [refused, setRefused] = useState(false);
  const change = async (wanted: boolean) => {
    // The browser asks once. Later changes are made in the browser's settings.
    const allowed = !wanted || (await Notification.requestPermission()) === "granted";
    setRefused(!allowed);
    if (!allowed) return;
    tryWrite(PLACE, wanted ? "yes" : "no");
    setOn(wanted);
    await doing.run(i18n.t("Couldn't save: the server is unreachable."), () => prefer({ notify: wanted }));
  };
  if (!("Notification" in window)) return null;
  return (
    <section>
      <h3>{i18n.t("Notifications")}</h3>
      <Switch
        label={i18n.t("Notify me when an answer is ready or needs me")}
        told={i18n.t("Only when this tab is in the background. This device only.")}
        on={on}
        choose={(wanted) => void change(wanted)}
      />
      {refused && (
        <p className="err" role="alert">
          {i18n.t("Your browser blocks notifications from this site. Allow them in the browser's settings.")}
        </p>
      )}
      <Problem of={doing} />
    </section>
  );
}
