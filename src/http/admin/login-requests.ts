import { type Static, Type } from "@sinclair/typebox";
import { clientTypes } from "../../domain/applications.ts";
import { type LoginAnswer, rejections } from "../../domain/authorizations.ts";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import { maxId } from "../../domain/ids.ts";
import { mayReuseConsent } from "../../domain/redirect-uris.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, parseScopes, scopesNamed, secretHash } from "../../domain/tokens.ts";
import type { Store } from "../../store/store.ts";
import { readJson, readOptionalJson } from "../body.ts";
import { replyJson } from "../exchange.ts";
import { answer, IsoTimestamp, Message } from "../public/reference.ts";
import { readQuery } from "../query.ts";
import { exampleApplication } from "./application-fields.ts";
import type { AdminListener } from "./base.ts";
import { adminOperation, closed } from "./reference.ts";

const path = "/admin/v1/login-requests/:challenge";
const tag = "Sign-in";

const ChallengeParams = Type.Object({
  challenge: Type.String({
    description: "`login_challenge`, as the browser brought it to the login page.",
    examples: ["onair_lc_4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6pL"],
  }),
});

const UserQuery = Type.Object({
  user_id: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxId,
      description: "Who is logged in, to be told `remembered_scopes`.",
      examples: [1001],
    }),
  ),
});

const AcceptInput = Type.Object(
  {
    user_id: Type.Integer({ minimum: 1, maximum: maxId, description: "Who logged in." }),
    scopes: Type.Optional(
      Type.Array(Type.String({ maxLength: 100 }), {
        minItems: 1,
        maxItems: 20,
        description: "What they allowed: at most what was asked for, which it is if left out.",
      }),
    ),
    remember: Type.Optional(
      Type.Boolean({ default: true, description: "Whether the consent holds for the next time." }),
    ),
  },
  { $id: "AcceptInput", description: "Who logged in and what they allowed." },
);

const RejectInput = Type.Object(
  {
    error: Type.Optional(
      Type.Union(
        rejections.map((code) => Type.Literal(code)),
        {
          default: "access_denied",
          description: "What the application is told (RFC 6749, section 4.1.2.1).",
        },
      ),
    ),
    error_description: Type.Optional(
      Type.String({
        maxLength: 200,
        pattern: "^[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*$",
        errorMessage: "must be printable ASCII without quotation marks and backslashes",
        description: "The same in words.",
      }),
    ),
  },
  { $id: "RejectInput", description: "Why nobody logged in, or nothing was allowed." },
);

const LoginRequestSchema = Type.Object(
  {
    application: Type.Object(
      {
        id: Type.String({ description: "Its id." }),
        name: Type.String({ description: "Its name." }),
        client_type: Type.Union(
          clientTypes.map((one) => Type.Literal(one)),
          { description: "Whether it can keep a secret." },
        ),
      },
      { $id: "AskingApplication", description: "The application that asks.", ...closed },
    ),
    redirect_uri: Type.String({ description: "Where the browser goes in the end." }),
    scopes: Type.Array(Type.String(), { description: "What is asked for." }),
    remembered_scopes: Type.Optional(
      Type.Array(Type.String(), {
        description:
          "With `user_id`: those of `scopes` that the user has allowed before. When these are all, they need not be asked again. None for a public client that is not reached by https.",
      }),
    ),
    expires_at: IsoTimestamp,
    message: Message,
  },
  { $id: "LoginRequest", description: "What an application asks of a user.", ...closed },
);

const Answered = Type.Object(
  {
    redirect_to: Type.String({ format: "uri", description: "Where to send the browser. It works once." }),
    message: Message,
  },
  { $id: "LoginAnswer", description: "Where the browser goes.", ...closed },
);
const answered = answer("Send the browser on.", {
  schema: Answered,
  example: {
    redirect_to:
      "http://127.0.0.1:8080/oauth/authorize?login_verifier=onair_lv_0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ",
    message: "OK",
  },
});

export interface LoginRequestRouteOptions {
  readonly store: Store;
  readonly now: () => number;
  readonly publicUrl: () => string;
}

/** Users who are about to log in and consent at the platform: what is asked for, and the platform's answer. */
export function loginRequestRoutes(app: AdminListener, options: LoginRequestRouteOptions): void {
  const { store } = options;
  const { find, keep } = requests(options);

  app.get(
    path,
    async ({ exchange, request, params }) => {
      const { user_id } = readQuery(request.url, UserQuery);
      const { application, redirectUri, scopes, expiresAt } = await find(params.challenge);
      const { id, name, client_type } = application;
      const consents = user_id === undefined ? [] : await store.consents.ofUser(user_id);
      const consent = consents.find(({ application_id }) => application_id === id);
      const remembered = mayReuseConsent(redirectUri, client_type) ? (consent?.scopes ?? []) : [];
      const found: Static<typeof LoginRequestSchema> = {
        application: { id, name, client_type },
        redirect_uri: redirectUri,
        scopes: [...scopes],
        ...(user_id !== undefined && {
          remembered_scopes: scopes.filter((scope) => remembered.includes(scope)),
        }),
        expires_at: isoTime(expiresAt),
        message: "OK",
      };
      return replyJson(exchange, 200, found);
    },
    adminOperation({
      id: "getLoginRequest",
      tag,
      summary: "Get Login Request",
      description: "Which application a browser comes from, and what it wants to be allowed.",
      params: ChallengeParams,
      query: UserQuery,
      answers: {
        200: answer("The request.", {
          schema: LoginRequestSchema,
          example: {
            application: {
              id: exampleApplication.id,
              name: exampleApplication.name,
              client_type: "confidential",
            },
            redirect_uri: "https://bot.example/callback",
            scopes: ["users:read", "events:subscribe"],
            remembered_scopes: ["users:read"],
            expires_at: "2026-01-14T16:38:06.123Z",
            message: "OK",
          },
        }),
      },
      errors: ["not_found"],
    }),
  );

  app.put(
    `${path}/accept`,
    async ({ exchange, request, params }) => {
      const input = await readJson(request, AcceptInput);
      const asked = await find(params.challenge);
      const granted = input.scopes ? parseScopes(input.scopes.join(" ")) : asked.scopes;
      if (!granted || granted.length === 0 || granted.some((scope) => !asked.scopes.includes(scope))) {
        const message = `may hold ${asked.scopes.join(" and ")}`;
        throw invalidFields([{ in: "body", field: "scopes", message }]);
      }
      const { user_id: userId, remember = true } = input;
      return replyJson(exchange, 200, await keep(params.challenge, { userId, scopes: granted, remember }));
    },
    adminOperation({
      id: "acceptLoginRequest",
      tag,
      summary: "Accept Login Request",
      description: "A user logged in and consented. The first answer to a request holds.",
      params: ChallengeParams,
      body: { json: { schema: AcceptInput, example: { user_id: 1001, scopes: ["users:read"] } } },
      answers: { 200: answered },
      errors: ["not_found", "conflict"],
    }),
  );

  app.put(
    `${path}/reject`,
    async ({ exchange, request, params }) => {
      const { error = "access_denied", error_description = null } = await readOptionalJson(
        request,
        RejectInput,
      );
      const given = { error, errorDescription: error_description };
      return replyJson(exchange, 200, await keep(params.challenge, given));
    },
    adminOperation({
      id: "rejectLoginRequest",
      tag,
      summary: "Reject Login Request",
      description: "Nobody logged in, or they did not consent. The first answer to a request holds.",
      params: ChallengeParams,
      body: {
        json: { schema: RejectInput, example: { error_description: "The user denied access" } },
        optional: true,
      },
      answers: { 200: answered },
      errors: ["not_found", "conflict"],
    }),
  );
}

function requests({ store, now, publicUrl }: LoginRequestRouteOptions) {
  return {
    async find(challenge: string) {
      const request = await store.loginRequests.find(secretHash(challenge), now());
      const application = request && (await store.applications.find(request.applicationId));
      if (application) return { ...request, scopes: scopesNamed(request.scopes), application };
      throw new DomainError("not_found", "There is no login request with this challenge, or it has expired");
    },
    async keep(challenge: string, given: LoginAnswer): Promise<Static<typeof Answered>> {
      const verifier = newSecret("onair_lv_");
      await store.loginRequests.answer(secretHash(challenge), given, secretHash(verifier), now());
      return { redirect_to: `${publicUrl()}/oauth/authorize?login_verifier=${verifier}`, message: "OK" };
    },
  };
}
