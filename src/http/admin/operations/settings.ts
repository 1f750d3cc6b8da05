import { Type } from "@sinclair/typebox";
import { isoTime } from "../../../domain/time.ts";
import { about, nullable } from "../../../domain/validation/fields.ts";
import { commit } from "../../../runtime/commit.ts";
import { version } from "../../../runtime/version.ts";
import { answer } from "../../answers.ts";
import { IsoTimestamp, Message, named } from "../../fields.ts";
import { readers } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const SettingSchema = named("Setting", "A setting of the server.", {
  name: Type.String({ description: "As an option of `onair serve`, without its dashes." }),
  value: nullable(Type.String(), {
    description:
      "The value in force; of a secret `set`, and of a URL without password and query; null: not set.",
  }),
  default: nullable(Type.String(), { description: "The value where nothing is set." }),
  is_secret: Type.Boolean({ description: "Whether its value is never shown." }),
  help: Type.String({ description: "What it is for." }),
});

const Settings = answer(
  {
    data: Type.Array(SettingSchema, { description: "In the order of `onair serve --help`." }),
    version: Type.String({ description: "The version of the server." }),
    commit: nullable(Type.String(), {
      description:
        "The commit that it was built from; with `-changed` behind it where the checkout had changes. null: not known.",
    }),
    started_at: about(IsoTimestamp, "When it was started."),
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

/** List Settings: how the server is set, without secrets. */
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
        description: "The settings in force. They are changed by starting the server with others.",
      },
    },
  );
}
