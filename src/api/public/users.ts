import { Type } from "@sinclair/typebox";
import { DomainError, invalidField } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { idIn } from "../../domain/ids.ts";
import type { Store } from "../../domain/store.ts";
import { maxUserIds, searchLimits, type User, usernameForm } from "../../domain/users.ts";
import { about, Count, Id } from "../../domain/validation/fields.ts";
import { answer, linksTo, listOf } from "../http/answers.ts";
import { exampleUrl, header } from "../http/openapi.ts";
import {
  comparedPlainly,
  IdParameter,
  IsoTimestamp,
  LimitParameter,
  ListParameter,
  Message,
  named,
  TextParameter,
  WebUrl,
} from "../http/parameters.ts";
import { defaultPictures } from "./assets.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

const Username = TextParameter({
  ...usernameForm,
  description: "Username of the user. ASCII case is ignored.",
  examples: [exampleUser.username],
});

const summaryFields = {
  id: about(Id, "Id of the user."),
  username: Type.String({
    description: "Username, as the platform spells it. Get User looks it up without regard to ASCII case.",
  }),
  display_name: Type.String({ description: "Name to display." }),
  profile_picture: about(WebUrl, "URL of the profile picture; a default picture when the user has none."),
  is_verified: Type.Boolean({ description: "Whether the platform has verified the user." }),
};

const UserSummarySchema = named("UserSummary", "A user in search results.", summaryFields);

const UserSchema = named("User", "The public profile of a user.", {
  ...summaryFields,
  bio: Type.String({ description: 'Text that the user wrote about themselves; `""` when there is none.' }),
  followers_count: about(Count, "Number of users who follow this user."),
  following_count: about(Count, "Number of users whom this user follows."),
  created_at: about(IsoTimestamp, "Time at which the account was created."),
});

const UsersQuery = Type.Object({
  id: Type.Optional(
    ListParameter({
      items: IdParameter("user", exampleUser.id),
      minItems: 1,
      maxItems: maxUserIds,
      description:
        "Ids of users: a repeated parameter, or values separated by commas. Required with a token of the application itself.",
      examples: [[exampleUser.id]],
    }),
  ),
});

const SearchQuery = Type.Object({
  query: TextParameter({
    trim: true,
    minLength: searchLimits.minQuery,
    maxLength: searchLimits.maxQuery,
    description: `Part of a username or display name. ${comparedPlainly} The length is that of the query as sent, in code points.`,
    examples: ["luna"],
  }),
  limit: LimitParameter("users", searchLimits),
});

const exampleProfile = withPicture(exampleUser, { publicUrl: () => exampleUrl });
const { bio, followers_count, following_count, created_at, ...exampleSummary } = exampleProfile;

type Pictured = Pick<PublicDeps, "publicUrl">;

/** Adds the default picture to a user without a picture. */
export function withPicture<User extends { profile_picture: string | null }>(
  user: User,
  { publicUrl }: Pictured,
) {
  return { ...user, profile_picture: user.profile_picture ?? defaultPictures(publicUrl()).profile };
}

const FoundUsers = listOf(UserSummarySchema, {
  order: "Matching users, the best match first.",
  name: "UserSearchAnswer",
  links: linksTo(
    { getUser: "Gets the full profile of the first matching user." },
    "/data/0/username",
    "username",
  ),
  description: "The matching users; an empty list when there are none.",
  example: exampleSummary,
  headers: header(
    "Onair-Search-Complete",
    "`false` if the search stopped early: further users may match, and some of them may rank higher.",
    "boolean",
    true,
  ),
});

const FoundUser = answer(
  { user: UserSchema, message: Message },
  { name: "UserAnswer", description: "The user.", example: { user: exampleProfile, message: "OK" } },
);

const UsersById = listOf(UserSchema, {
  order: "The users, in the order of the ids.",
  description: "The users that exist; an empty list when there are none.",
  example: exampleProfile,
});

type Users = Pick<Store, "users">;

/** Returns the users with these ids that exist, in the order of the ids, each once. */
export async function usersById({ users }: Users, ids: readonly number[]): Promise<User[]> {
  const found = new Map((await users.byIds(ids)).map((user) => [user.id, user]));
  return [...new Set(ids)].flatMap((id) => found.get(id) ?? []);
}

/** Returns the users whom a person means by a part of a name or an id: the user with the id first. */
export async function usersFor(store: Users, text: string, limit: number): Promise<User[]> {
  const named = (await store.users.search(text, limit)).users.map(({ id }) => id);
  const id = idIn(text);
  const ids = id === null ? named : [id, ...named];
  return (await usersById(store, ids)).slice(0, limit);
}

/** Get User, Get Users and Search Users. */
export function userRoutes(app: TokenListener, { store, publicUrl }: PublicDeps): void {
  app.get(
    "/public/v1/users",
    async ({ query: { id }, caller: { grant } }) => {
      const ids = id ?? (grant.userId === null ? [] : [grant.userId]);
      if (ids.length === 0)
        throw invalidField("query", "id", "is required with a token of the application itself");
      const found = await usersById(store, ids);
      return { data: found.map((user) => withPicture(user, { publicUrl })), message: "OK" };
    },
    {
      scope: "users:read",
      query: UsersQuery,
      response: { 200: UsersById },
      detail: {
        operationId: "getUsers",
        tags: ["Users"],
        description:
          "Returns the public profiles of users by id, in the order of the ids. Ids that do not exist are left out, and an id that is given twice has one profile. With a user token and without `id`, it returns the user of the token.",
      },
    },
  );

  app.get(
    "/public/v1/users/search",
    async ({ query: { query, limit = searchLimits.defaultResults }, set }) => {
      const { users, isComplete } = await store.users.search(query, limit);
      set.headers["onair-search-complete"] = String(isComplete);
      return { data: users.map((user) => withPicture(user, { publicUrl })), message: "OK" };
    },
    {
      scope: "users:read",
      query: SearchQuery,
      response: { 200: FoundUsers },
      detail: {
        operationId: "searchUsers",
        tags: ["Users"],
        description:
          "Finds users whose username or display name contains the query. The exact username comes first, then usernames that start with the query, then the rest. Within each group, users with more followers come first, then those with the lower id.\n\nThe work of a search is bounded. When very many names contain all parts of the query, but few contain the query itself, the search stops early: the response has the users found so far, and the header `Onair-Search-Complete` is `false` instead of `true`. A longer query finds more.",
      },
    },
  );

  app.get(
    "/public/v1/users/:username",
    async ({ params: { username } }) => {
      const user = await store.users.find(username);
      if (!user) throw new DomainError("user_not_found", "There is no user with this username");
      return { user: withPicture(user, { publicUrl }), message: "OK" };
    },
    {
      scope: "users:read",
      params: Type.Object({ username: Username }),
      response: { 200: FoundUser },
      errors: ["user_not_found"],
      detail: {
        operationId: "getUser",
        tags: ["Users"],
        description: "Returns the public profile of a user by username.",
      },
    },
  );
}
