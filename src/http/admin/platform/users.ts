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
    kept: {
      bio: Type.String({
        description: 'Text that the user wrote about themselves; `""` when there is none.',
      }),
    },
    example: exampleUser,
    missing: "user_not_found",
    deletion:
      "The user's channels with their livestreams, tokens for the user, and subscriptions to the user's events are deleted as well. Pending deliveries of these subscriptions are canceled.",
    rows: store.users,
    intake: data.users,
    remove: data.removeUser,
  });
}
