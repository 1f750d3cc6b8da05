import { Type } from "@sinclair/typebox";
import { parseScopeNames, type Scope, type ScopeName, scopes, scopesWithin } from "../../domain/tokens.ts";
import { beyondApplication, OAuthError } from "./errors.ts";
import { Form } from "./form.ts";

/*
 * Fields that several OAuth endpoints share, and their examples in the reference.
 */

export const text = (description: string) => Type.String({ description });
export const optional = (description: string) => Type.Optional(text(description));

/** The credentials of a client in a form. */
export const clientFields = {
  client_id: optional("Client id of the application. Required unless you use HTTP Basic."),
  client_secret: optional("Client secret. Required unless you use HTTP Basic or are a public client."),
};

/** The field for requested scopes. @param rest a sentence about the default */
export const scopeField = (rest: string) => ({
  scope: optional(
    `Scopes separated by spaces: ${scopes.map((scope) => `\`${scope}\``).join(" and ")}. ${rest}`,
  ),
});

export const exampleClientId = "01KATHZX5M9S3E6R8B2D4F7G1H";
export const exampleRedirectUri = "https://app.example/callback";
export const exampleToken = "onair_at_u8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ0sF8gA3eK7qX9M";
export const exampleRefreshToken = "onair_rt_R5yW2nH6pL4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1v";

/** A form that names a token. */
export const TokenToLookAt = (example: object) =>
  Form(
    {
      token: text("An access token or a refresh token."),
      token_type_hint: optional("Ignored: the type is known from the token."),
      ...clientFields,
    },
    { $id: "TokenToLookAt", description: "A form that names a token.", example },
  );

/** Returns the requested scopes under the names in the request, or all that are `allowed`. Throws `invalid_scope`. */
export function readScopes(asked: string | undefined, allowed: readonly Scope[]): readonly ScopeName[] {
  if (asked === undefined) return allowed;
  const wanted = parseScopeNames(asked);
  if (!wanted || wanted.length === 0) {
    throw new OAuthError("invalid_scope", `scope may name ${scopes.join(" and ")}, separated by spaces`);
  }
  if (scopesWithin(wanted, allowed).length < wanted.length) {
    throw new OAuthError("invalid_scope", beyondApplication);
  }
  return wanted;
}
