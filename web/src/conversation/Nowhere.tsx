import { i18n } from "@lingui/core";

/** Where no session is, or none that may be seen. */
export function Nowhere({ why }: { why: string }) {
  return (
    <div className="thread">
      <div className="col push hello">
        <h1>{i18n.t("There is nothing here")}</h1>
        <p>{why}</p>
      </div>
    </div>
  );
}
