import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { searchLimits, usernamePattern } from "../../domain/users.ts";
import { about, Count, Id } from "../../domain/validation/fields.ts";
import { codePoints, fold } from "../../domain/validation/text.ts";
import { answer, linksTo, listOf } from "../answers.ts";
import { IsoTimestamp, Message, named, WebUrl } from "../fields.ts";
import { header } from "../openapi/components.ts";
import { exampleUrl } from "../openapi/declared.ts";
import { LimitParameter, TextParameter } from "../parameters.ts";
import { defaultPictures } from "./assets.ts";
import type { PublicDeps, TokenListener } from "./base.ts";

const Username = TextParameter({
  pattern: usernamePattern,
  errorMessage: "must be 1 to 64 of the characters A-Z a-z 0-9 _ -",
  description: "Looked up without regard to ASCII case.",
  examples: [exampleUser.username],
});

const summaryFields = {
  id: about(Id, "Id of the user."),
  username: Type.String({ description: "The lookup key, as the platform spells it." }),
  display_name: Type.String({ description: "The name to show." }),
  profile_picture: about(WebUrl, "The picture; where the user has none, one of this server."),
  is_verified: Type.Boolean({ description: "Whether the platform has verified the user." }),
};

const UserSummarySchema = named("UserSummary", "A user as a search finds it.", summaryFields);

const UserSchema = named("User", "The public profile of a user.", {
  ...summaryFields,
  bio: Type.String({ description: 'Empty ("") where there is none.' }),
  followers_count: about(Count, "How many follow the user."),
  following_count: about(Count, "How many the user follows."),
  created_at: about(IsoTimestamp, "When the account was made."),
});

/** Search ignores diacritics, so a query needs three characters without them. */
function longEnough(query: string): string | null {
  if (codePoints(fold(query)) >= searchLimits.minQuery) return null;
  return `must be at least ${searchLimits.minQuery} characters, not counting accents`;
}

/** The query of a search, also of operators. */
export const SearchQuery = Type.Object({
  query: TextParameter({
    trim: true,
    minLength: searchLimits.minQuery,
    maxLength: searchLimits.maxQuery,
    description:
      "Any part of a username or display name, regardless of case and diacritics. A mark that stands alone in Unicode, as in e + U+0301, is no character of it.",
    examples: ["luna"],
    refine: longEnough,
  }),
  limit: LimitParameter("users", searchLimits),
});

const exampleProfile = withPicture(exampleUser, { publicUrl: () => exampleUrl });
const { bio, followers_count, following_count, created_at, ...exampleSummary } = exampleProfile;

type Pictured = Pick<PublicDeps, "publicUrl">;

/** Sets the default picture for a user without one. */
function withPicture<User extends { profile_picture: string | null }>(user: User, { publicUrl }: Pictured) {
  return { ...user, profile_picture: user.profile_picture ?? defaultPictures(publicUrl()).profile };
}

const FoundUsers = listOf(UserSummarySchema, {
  order: "The best first.",
  name: "UserSearchAnswer",
  links: linksTo({ getUser: "The whole profile of the first user found." }, "/data/0/username", "username"),
  description: "The users found; nothing found is an empty list.",
  example: exampleSummary,
  headers: {
    "Onair-Search-Complete": header(
      "Onair-Search-Complete",
      "`false` where the search was cut off: other users may match, also some that would come first.",
      "boolean",
      true,
    ),
  },
});

const FoundUser = answer(
  { user: UserSchema, message: Message },
  { name: "UserAnswer", description: "The user.", example: { user: exampleProfile, message: "OK" } },
);

/** Get User and Search Users. */
export function userRoutes(app: TokenListener, { store, publicUrl }: PublicDeps): void {
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
          "Finds users whose username or display name contains the query. The exact username comes first, then usernames that start with the query, then the rest; within each, more followers first, then the lower id.\n\nA search does a bounded amount of work. Where very many names have all parts of the query, but few of them contain it, the search is cut off: the answer has what was found so far, and the header `Onair-Search-Complete` is `false` instead of `true`. A longer query finds more.",
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
        description: "The public profile of a user, looked up by username.",
      },
    },
  );
}
