import { integer, keptTime, keptTimes, type SettingTable, size } from "./setting-values.ts";

/** Settings of how long data is kept, and how large it may become. */
export const retentionSettings = {
  keepDeliveredDays: {
    value: "TIME",
    default: "7",
    help: "how long deliveries that arrived are kept: days, or hours like 36h",
    read: keptTime,
  },
  keepFailedDays: {
    value: "TIME",
    default: "30",
    help: "how long deliveries that failed, expired or were canceled are kept",
    read: keptTime,
  },
  keepBodiesDays: {
    value: "TIME",
    default: "7",
    help: "how long the bodies of events are kept once nothing of them is pending",
    read: keptTime,
  },
  keepByType: {
    value: "TYPE=TIME,…",
    default: "",
    help: "how long deliveries and bodies of these event types are kept, whatever became of them, like chat.message.sent=6h; for a data directory",
    read: keptTimes,
  },
  maxDataSize: {
    value: "SIZE",
    default: null,
    help: "how large the database of a data directory may become, like 20GB: from nine tenths on the oldest deliveries that have ended go, and events are refused where that does not do (default: no limit)",
    read: size(10e6),
  },
  keepAuditDays: {
    value: "DAYS",
    default: "365",
    help: "how long it is kept who changed what through the admin API",
    read: integer(1, 3_650),
  },
} satisfies SettingTable;
