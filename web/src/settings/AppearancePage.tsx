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
    ["system", i18n.t("As the system")],
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
          title={i18n.t("Light or dark")}
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
  // The other devices are told first: the page is read anew in the other language.
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
        // Each by its own name, so that it is found in whatever language the page is.
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
    // The browser asks the person; what it was told holds until that is changed in the browser.
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
        label={i18n.t("Tell me when an answer is complete or needs me")}
        told={i18n.t("While the page is not looked at. On this device.")}
        on={on}
        choose={(wanted) => void change(wanted)}
      />
      {refused && (
        <p className="err" role="alert">
          {i18n.t(
            "The browser does not allow notifications from this page. That can be changed in its settings.",
          )}
        </p>
      )}
      <Problem of={doing} />
    </section>
  );
}
