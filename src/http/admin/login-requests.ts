import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type LoginAnswer, rejections } from "../../domain/authorizations.ts";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import { Id } from "../../domain/fields.ts";
import { mayReuseConsent } from "../../domain/redirect-uris.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, parseScopes, secretHash } from "../../domain/tokens.ts";
import type { Store } from "../../store/store.ts";
import { readJson } from "../body.ts";
import { replyJson } from "../exchange.ts";
import { readQuery } from "../query.ts";
import { type AdminListener, operatorOnly } from "./base.ts";

const path = "/admin/v1/login-requests/:challenge";

const UserQuery = Type.Object({ user_id: Type.Optional(Id) });

const acceptInput = TypeCompiler.Compile(
  Type.Object({
    user_id: Id,
    scopes: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, maxItems: 20 })),
    remember: Type.Optional(Type.Boolean()),
  }),
);

const rejectInput = TypeCompiler.Compile(
  Type.Object({
    error: Type.Optional(Type.Union(rejections.map((code) => Type.Literal(code)))),
    error_description: Type.Optional(
      Type.String({
        maxLength: 200,
        // RFC 6749, section 4.1.2.1.
        pattern: "^[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*$",
        errorMessage: "must be printable ASCII without quotation marks and backslashes",
      }),
    ),
  }),
);

export interface LoginRequestRouteOptions {
  readonly store: Store;
  readonly now: () => number;
  readonly publicUrl: () => string;
}

/** Users who are about to log in and consent at the platform: what is asked for, and the platform's answer. */
export function loginRequestRoutes(
  app: AdminListener,
  { store, now, publicUrl }: LoginRequestRouteOptions,
): void {
  const find = async (challenge: string) => {
    const request = await store.loginRequests.find(secretHash(challenge), now());
    const application = request && (await store.applications.find(request.applicationId));
    if (application) return { ...request, application };
    throw new DomainError("not_found", "There is no login request with this challenge, or it has expired");
  };

  const answer = async (challenge: string, given: LoginAnswer) => {
    const verifier = newSecret("onair_lv_");
    await store.loginRequests.answer(secretHash(challenge), given, secretHash(verifier), now());
    return { redirect_to: `${publicUrl()}/oauth/authorize?login_verifier=${verifier}`, message: "OK" };
  };

  app.get(
    path,
    async ({ exchange, request, params }) => {
      const { user_id } = readQuery(request.url, UserQuery);
      const { application, redirectUri, scopes, expiresAt } = await find(params.challenge);
      const { id, name, client_type } = application;
      const consents = user_id === undefined ? [] : await store.consents.ofUser(user_id);
      const consent = consents.find(({ application_id }) => application_id === id);
      const remembered = mayReuseConsent(redirectUri, client_type) ? (consent?.scopes ?? []) : [];
      return replyJson(exchange, 200, {
        application: { id, name, client_type },
        redirect_uri: redirectUri,
        scopes,
        ...(user_id !== undefined && {
          remembered_scopes: scopes.filter((scope) => remembered.includes(scope)),
        }),
        expires_at: isoTime(expiresAt),
        message: "OK",
      });
    },
    operatorOnly(),
  );

  app.put(
    `${path}/accept`,
    async ({ exchange, request, params }) => {
      const input = await readJson(request, acceptInput);
      const asked = await find(params.challenge);
      const granted = input.scopes ? parseScopes(input.scopes.join(" ")) : asked.scopes;
      if (!granted || granted.length === 0 || granted.some((scope) => !asked.scopes.includes(scope))) {
        const message = `may hold ${asked.scopes.join(" and ")}`;
        throw invalidFields([{ in: "body", field: "scopes", message }]);
      }
      const { user_id: userId, remember = true } = input;
      return replyJson(exchange, 200, await answer(params.challenge, { userId, scopes: granted, remember }));
    },
    operatorOnly(),
  );

  app.put(
    `${path}/reject`,
    async ({ exchange, request, params }) => {
      const { error = "access_denied", error_description = null } = await readJson(request, rejectInput);
      const given = { error, errorDescription: error_description };
      return replyJson(exchange, 200, await answer(params.challenge, given));
    },
    operatorOnly(),
  );
}
