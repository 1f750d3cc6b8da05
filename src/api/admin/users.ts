import { type Static, Type } from "@sinclair/typebox";
import { exampleUser } from "../../domain/examples.ts";
import { searchLimits, type User } from "../../domain/users.ts";
import { about, Count, Id, nullable } from "../../domain/validation/fields.ts";
import { listOf } from "../http/answers.ts";
import {
  comparedPlainly,
  IdParameter,
  LimitParameter,
  ListParameter,
  named,
  picked,
  TextParameter,
  WebUrl,
} from "../http/parameters.ts";
import { usersById, usersFor } from "../public/users.ts";
import { type AdminDeps, type AdminListener, everyRole } from "./listener.ts";

/*
 * Look-ups of users by what operators know of them: a part of a name, or ids.
 */

const fields = {
  id: about(Id, "Id of the user."),
  username: Type.String({ description: "Username, as the platform spells it." }),
  display_name: Type.String({ description: "Name to display." }),
  profile_picture: nullable(WebUrl, { description: "URL of the profile picture; null for none." }),
  followers_count: about(Count, "Number of followers."),
  is_verified: Type.Boolean({ description: "Whether the platform has verified the user." }),
};
const FoundUserSchema = named("FoundUser", "A user in search results.", fields);

const example = picked(fields, exampleUser);
const FoundUsers = listOf(FoundUserSchema, {
  order:
    "The user with this id first, then those with matching names: first the exact username, then usernames that start with the query, then the rest; within each, those with more followers first.",
  description: "The matching users.",
  example,
});
const UsersById = listOf(FoundUserSchema, {
  order: "The users, in the order of the ids.",
  name: "UserList",
  description: "The users that exist.",
  example,
});

const SearchQuery = Type.Object({
  query: TextParameter({
    trim: true,
    minLength: 1,
    maxLength: searchLimits.maxQuery,
    description: `Part of a username or display name, or an id. ${comparedPlainly} One or two characters find whole names, and parts of names in scripts such as Chinese, Japanese, Korean or Thai; other names that contain them are found among the users with the most followers.`,
    examples: ["luna"],
  }),
  limit: LimitParameter("users", searchLimits),
});

/** The most ids of one look-up. */
const maxIds = 100;

const IdsQuery = Type.Object({
  id: ListParameter({
    items: IdParameter("user", exampleUser.id),
    minItems: 1,
    maxItems: maxIds,
    description: "Ids of users: a repeated parameter, or values separated by commas.",
    examples: [[exampleUser.id]],
  }),
});

const foundUser = (user: User): Static<typeof FoundUserSchema> => picked(fields, user);

/** Search Users, and get users by their ids. */
export function userLookupRoutes(app: AdminListener, { store }: AdminDeps): void {
  app.get(
    "/admin/v1/users/search",
    async ({ query: { query, limit = searchLimits.defaultResults } }) => {
      return { data: (await usersFor(store, query, limit)).map(foundUser), message: "OK" };
    },
    {
      roles: everyRole,
      query: SearchQuery,
      response: { 200: FoundUsers },
      detail: {
        operationId: "searchUsers",
        tags: ["Users"],
        description: "Finds users by their id or a part of a name.",
      },
    },
  );

  app.get(
    "/admin/v1/users",
    async ({ query: { id } }) => {
      return { data: (await usersById(store, id)).map(foundUser), message: "OK" };
    },
    {
      roles: everyRole,
      query: IdsQuery,
      response: { 200: UsersById },
      detail: {
        operationId: "getUsersById",
        tags: ["Users"],
        description:
          "Returns users by their ids, in the order of the ids. Ids that do not exist are left out, and an id that is given twice has one user.",
      },
    },
  );
}
