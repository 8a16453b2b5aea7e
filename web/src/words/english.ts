// Activates English in tests: each message is its own text.

import { i18n } from "@lingui/core";

i18n.loadAndActivate({ locale: "en", messages: {} });
