import { Type } from "@sinclair/typebox";
import { isoTime } from "../../../domain/time.ts";
import { about, nullable } from "../../../domain/validation/fields.ts";
import { commit, version } from "../../../runtime/version.ts";
import { answer } from "../../answers.ts";
import { IsoTimestamp, Message, named } from "../../fields.ts";
import { readers } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const SettingSchema = named("Setting", "A setting of the server.", {
  name: Type.String({ description: "Name of the option of `onair serve`, without its dashes." }),
  value: nullable(Type.String(), {
    description:
      "Current value; null if not set. A secret is shown as `set`, a URL without password and query.",
  }),
  default: nullable(Type.String(), { description: "Default value; null if there is none." }),
  is_secret: Type.Boolean({ description: "Whether the value is a secret, which is never shown." }),
  help: Type.String({ description: "Purpose of the setting." }),
});

const Settings = answer(
  {
    data: Type.Array(SettingSchema, { description: "Settings, in the order of `onair serve --help`." }),
    version: Type.String({ description: "Version of the server." }),
    commit: nullable(Type.String(), {
      description:
        "Commit from which the server was built, with the suffix `-changed` if the checkout had changes; null if unknown.",
    }),
    started_at: about(IsoTimestamp, "Time at which the server was started."),
    message: Message,
  },
  {
    name: "SettingList",
    description: "The settings.",
    example: {
      data: [
        {
          name: "rate-limit",
          value: "6000",
          default: "800",
          is_secret: false,
          help: "requests a minute for each application",
        },
        { name: "admin-key", value: "set", default: null, is_secret: true, help: "an operator key" },
      ],
      version: "0.1.0",
      commit: "3f2a9c41d07b",
      started_at: "2026-01-14T16:00:00.000Z",
      message: "OK",
    },
  },
);

/** List Settings: the server's settings, without secrets. */
export function settingRoutes(app: AdminListener, { facts }: AdminDeps): void {
  app.get(
    "/admin/v1/settings",
    () => ({ data: facts.settings, version, commit, started_at: isoTime(facts.startedAt), message: "OK" }),
    {
      roles: readers,
      response: { 200: Settings },
      detail: {
        operationId: "getSettings",
        tags: ["Operations"],
        summary: "List Settings",
        description: "Returns the current settings of the server. This API cannot change them.",
      },
    },
  );
}
