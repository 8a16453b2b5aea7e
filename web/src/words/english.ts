// Tests speak English, from the messages themselves.

import { i18n } from "@lingui/core";

i18n.loadAndActivate({ locale: "en", messages: {} });
