import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { answerOf } from "../http/answers.ts";
import { exampleUrl } from "../http/openapi.ts";
import { named, WebUrl } from "../http/parameters.ts";
import type { PublicDeps, TokenListener } from "../public/listener.ts";
import { withPicture } from "../public/users.ts";

const UserInfoSchema = named(
  "UserInfo",
  "The user who signed in, with claims of OpenID Connect (Core 1.0, section 5.1).",
  {
    sub: Type.String({ description: "Id of the user, as a string." }),
    preferred_username: Type.String({ description: "Username, which the platform may change." }),
    name: Type.String({ description: "Name to display." }),
    picture: {
      ...WebUrl,
      description: "URL of the profile picture; a default picture when the user has none.",
    },
  },
);

const UserInfo = answerOf(UserInfoSchema, {
  description: "The user of the token.",
  example: {
    sub: String(exampleUser.id),
    preferred_username: exampleUser.username,
    name: exampleUser.display_name,
    picture: withPicture(exampleUser, { publicUrl: () => exampleUrl }).profile_picture,
  },
});

/** `GET /oauth/userinfo` (OpenID Connect Core 1.0, section 5.3): the user of a user token, whatever its scopes are. */
export function userInfoRoute(app: TokenListener, { store, publicUrl }: PublicDeps): void {
  app.get(
    "/oauth/userinfo",
    async ({ caller: { grant } }) => {
      const [user] = await store.users.byIds([grant.userId].filter((id) => id !== null));
      // The user was removed after the token was checked.
      if (!user) throw new DomainError("invalid_token", "The user of this access token does not exist");
      return {
        sub: String(user.id),
        preferred_username: user.username,
        name: user.display_name,
        picture: withPicture(user, { publicUrl }).profile_picture,
      };
    },
    {
      user: true,
      response: { 200: UserInfo },
      detail: {
        operationId: "getUserInfo",
        tags: ["Tokens"],
        summary: "Get the user who signed in",
        description:
          "Returns who the user of a user token is. The token needs no particular scope. For the whole profile, use Get Users without `id`.",
      },
    },
  );
}
