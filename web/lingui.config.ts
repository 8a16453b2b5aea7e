import { defineConfig } from "@lingui/cli";
import { formatter } from "@lingui/format-po";

export default defineConfig({
  sourceLocale: "en",
  locales: ["en", "de"],
  catalogs: [{ path: "<rootDir>/src/words/{locale}", include: ["<rootDir>/src"], exclude: ["**/*.test.*"] }],
  // The English text is the name of a message.
  format: formatter({ explicitIdAsDefault: true, lineNumbers: false }),
  orderBy: "messageId",
});
