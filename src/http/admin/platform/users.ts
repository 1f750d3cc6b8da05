import { Type } from "@sinclair/typebox";
import { exampleUser } from "../../../domain/examples.ts";
import { UserInput } from "../../../domain/users.ts";
import type { AdminDeps, AdminListener } from "../base.ts";
import { recordRoutes } from "./records.ts";

/** Users as the platform reports them. */
export function userRoutes(app: AdminListener, { store, data }: AdminDeps): void {
  recordRoutes(app, {
    noun: "user",
    plural: "users",
    tag: "Users",
    input: UserInput,
    kept: { bio: Type.String({ description: 'Empty ("") where there is none.' }) },
    example: exampleUser,
    missing: "user_not_found",
    deletion:
      "Channels and livestreams of the user go too, tokens for the user end, and so do the subscriptions to the user's events, whose pending deliveries are canceled.",
    rows: store.users,
    intake: data.users,
    remove: data.removeUser,
  });
}
