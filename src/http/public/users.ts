import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { about, Count, Id } from "../../domain/fields.ts";
import { codePoints, fold } from "../../domain/text.ts";
import { searchLimits, usernamePattern } from "../../domain/users.ts";
import { reply, replyJson } from "../exchange.ts";
import { readParam, readQuery } from "../query.ts";
import { defaultPictures } from "./assets.ts";
import type { PublicDeps, PublicListener } from "./base.ts";
import type { ReadProfiles } from "./profiles.ts";
import { answer, IsoTimestamp, Message, operation, WebUrl } from "./reference.ts";
import { header } from "./reference-errors.ts";

export const usersPath = "/public/v1/users/";

const Username = Type.String({
  pattern: usernamePattern,
  errorMessage: "must be 1 to 64 of the characters A-Z a-z 0-9 _ -",
  description: "Looked up without regard to ASCII case.",
  examples: ["xqcow"],
});

const summaryFields = {
  id: about(Id, "Id of the user."),
  username: Type.String({ description: "The lookup key, as the platform spells it." }),
  display_name: Type.String({ description: "The name to show." }),
  profile_picture: about(WebUrl, "The picture; where the user has none, one of this server."),
  is_verified: Type.Boolean({ description: "Whether the platform has verified the user." }),
};

export const UserSummarySchema = Type.Object(summaryFields, {
  $id: "UserSummary",
  description: "A user as a search finds it.",
  additionalProperties: false,
});

export const UserSchema = Type.Object(
  {
    ...summaryFields,
    bio: Type.String({ description: 'Empty ("") where there is none.' }),
    followers_count: about(Count, "How many follow the user."),
    following_count: about(Count, "How many the user follows."),
    created_at: about(IsoTimestamp, "When the account was made."),
  },
  { $id: "User", description: "The public profile of a user.", additionalProperties: false },
);

const SearchQuery = Type.Object({
  query: Type.String({
    trim: true,
    minLength: searchLimits.minQuery,
    maxLength: searchLimits.maxQuery,
    description: "Any part of a username or display name, regardless of case and diacritics.",
    examples: ["game"],
  }),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: searchLimits.maxResults,
      default: searchLimits.defaultResults,
      description: "How many users to return.",
    }),
  ),
});

const exampleUser = {
  id: 1001,
  username: "xqcow",
  display_name: "xQcOW",
  bio: "Streams in English.",
  profile_picture: "http://127.0.0.1:8080/assets/profile-picture.png",
  followers_count: 3246298,
  following_count: 0,
  is_verified: true,
  created_at: "2016-09-15T00:00:00Z",
};
const { bio, followers_count, following_count, created_at, ...exampleSummary } = exampleUser;

/** Accents count for nothing, so a query needs three characters without them. */
function longEnough(query: string): string | null {
  if (codePoints(fold(query)) >= searchLimits.minQuery) return null;
  return `must be at least ${searchLimits.minQuery} characters, not counting accents`;
}

type Pictured = Pick<PublicDeps, "publicUrl">;

function withPicture<T extends { profile_picture: string | null }>(user: T, { publicUrl }: Pictured): T {
  return user.profile_picture === null
    ? { ...user, profile_picture: defaultPictures(publicUrl()).profile }
    : user;
}

/** Reads what Get User answers for usernames; null where there is no such user. */
export function profileReader({ store, publicUrl }: Pick<PublicDeps, "store" | "publicUrl">): ReadProfiles {
  return (names) => {
    const picture = defaultPictures(publicUrl()).profile;
    return store.users.profiles(names, { picture, before: '{"user":', after: ',"message":"OK"}' });
  };
}

export const unknownUser = () => {
  return new DomainError("user_not_found", "There is no user with this username");
};

/** Get User and Search Users. */
export function userRoutes(app: PublicListener, { store, profiles, publicUrl }: PublicDeps): void {
  app.get(
    "/public/v1/users/search",
    async ({ exchange, request }) => {
      const { query, limit = searchLimits.defaultResults } = readQuery(request.url, SearchQuery, {
        query: longEnough,
      });
      const { users, isComplete } = await store.users.search(query, limit);
      const data = users.map((user) => withPicture(user, { publicUrl }));
      const headers = { "onair-search-complete": String(isComplete) };
      return replyJson(exchange, 200, { data, message: "OK" }, headers);
    },
    operation({
      id: "searchUsers",
      tag: "Users",
      summary: "Search Users",
      description:
        "Finds users whose username or display name contains the query. The exact username comes first, then usernames that start with the query, then the rest; within each, more followers first, then the lower id.\n\nA search does a bounded amount of work. Where very many names have all parts of the query, but few of them contain it, the search is cut off: the answer has what was found so far, and the header `Onair-Search-Complete` is `false` instead of `true`. A longer query finds more.",
      access: "users:read",
      query: SearchQuery,
      answers: {
        200: answer("The users found; nothing found is an empty list.", {
          schema: Type.Object(
            { data: Type.Array(UserSummarySchema, { description: "The best first." }), message: Message },
            { $id: "UserSearchAnswer", description: "The users found.", additionalProperties: false },
          ),
          example: { data: [exampleSummary], message: "OK" },
          links: {
            GetUser: {
              operationId: "getUser",
              description: "The whole profile of the first user found.",
              parameters: { username: "$response.body#/data/0/username" },
            },
          },
          headers: {
            "Onair-Search-Complete": header(
              "Onair-Search-Complete",
              "`false` where the search was cut off: other users may match, also some that would come first.",
              "boolean",
              true,
            ),
          },
        }),
      },
    }),
  );

  app.get(
    `${usersPath}:username`,
    async ({ exchange, params }) => {
      const name = readParam("username", params.username, Username).toLowerCase();
      const bytes = profiles.get(name)?.slice() ?? (await profiles.load(name));
      if (!bytes) throw unknownUser();
      return reply(exchange, 200, bytes);
    },
    operation({
      id: "getUser",
      tag: "Users",
      summary: "Get User",
      description: "The public profile of a user, looked up by username.",
      access: "users:read",
      params: Type.Object({ username: Username }),
      answers: {
        200: answer("The user.", {
          schema: Type.Object(
            { user: UserSchema, message: Message },
            { $id: "UserAnswer", description: "One user.", additionalProperties: false },
          ),
          example: { user: exampleUser, message: "OK" },
        }),
      },
      errors: ["user_not_found"],
    }),
  );
}
