import { logFormats, logLevels } from "../log/log.ts";
import { nonEmpty, oneOf, type SettingTable } from "./setting-values.ts";

/** Settings of the log. */
export const logSettings = {
  logFile: {
    value: "FILE",
    default: null,
    help: "where the log goes, opened again at SIGHUP (default: standard error)",
    read: nonEmpty,
  },
  logFormat: {
    value: "FORMAT",
    default: "auto",
    help: `${logFormats.join(", ")}: auto is text for people on a terminal, and JSON elsewhere`,
    read: oneOf(...logFormats),
  },
  logLevel: { value: "LEVEL", default: "info", help: logLevels.join(", "), read: oneOf(...logLevels) },
} satisfies SettingTable;
