import { type LogFormat, type LogLevel, logFormats, logLevels } from "../log/log.ts";
import { nonEmpty, oneOf, type Setting } from "./setting-values.ts";

/** Settings of the log. */
export interface LogConfig {
  /** The log file; null for standard error. */
  readonly logFile: string | null;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

export const logSettings: { readonly [Key in keyof LogConfig]: Setting<LogConfig[Key]> } = {
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
};
