import { type Static, Type } from "@sinclair/typebox";
import { clientTypes } from "../../domain/applications.ts";
import { type LoginAnswer, rejections } from "../../domain/authorizations.ts";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { maxId } from "../../domain/ids.ts";
import { mayReuseConsent } from "../../domain/redirect-uris.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, parseScopes, scopesNamed, secretHash } from "../../domain/tokens.ts";
import { oneOf } from "../../domain/validation/fields.ts";
import { answer, answerOf } from "../answers.ts";
import { IsoTimestamp, Message, named, otherFieldsIgnored } from "../fields.ts";
import { IntegerParameter, TextParameter } from "../parameters.ts";
import { operators, readers } from "./access.ts";
import { exampleApplication } from "./application-fields.ts";
import type { AdminDeps, AdminListener } from "./base.ts";

const ChallengeParams = Type.Object({
  challenge: TextParameter({
    description: "`login_challenge`, as the browser brought it to the login page.",
    examples: ["onair_lc_4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6pL"],
  }),
});

const UserQuery = Type.Object({
  user_id: Type.Optional(
    IntegerParameter({
      minimum: 1,
      maximum: maxId,
      description: "Who is logged in, to be told `remembered_scopes`.",
      examples: [exampleUser.id],
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
  {
    $id: "AcceptInput",
    description: "Who logged in and what they allowed.",
    ...otherFieldsIgnored,
    examples: [{ user_id: exampleUser.id, scopes: ["users:read"] }],
  },
);

const RejectInput = Type.Object(
  {
    error: Type.Optional(
      oneOf(rejections, {
        default: "access_denied",
        description: "What the application is told (RFC 6749, section 4.1.2.1).",
      }),
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
  {
    $id: "RejectInput",
    description: "Why the login or the consent failed.",
    ...otherFieldsIgnored,
    examples: [{ error_description: "The user denied access" }],
  },
);

const LoginRequestSchema = named("LoginRequest", "What an application asks of a user.", {
  application: named("AskingApplication", "The application that asks.", {
    id: Type.String({ description: "Its id." }),
    name: Type.String({ description: "Its name." }),
    client_type: oneOf(clientTypes, { description: "Whether it can keep a secret." }),
  }),
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
});

const FoundRequest = answerOf(LoginRequestSchema, {
  description: "The request.",
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
});

const Answered = answer(
  {
    redirect_to: Type.String({ format: "uri", description: "Where to send the browser. It works once." }),
    message: Message,
  },
  {
    name: "LoginAnswer",
    description: "Send the browser on.",
    example: {
      redirect_to:
        "http://127.0.0.1:8080/oauth/authorize?login_verifier=onair_lv_0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ",
      message: "OK",
    },
  },
);

/** Login requests: the platform reads what an application asks of a user, and accepts or rejects it. */
export function loginRequestRoutes(app: AdminListener, options: AdminDeps): void {
  const { store } = options;
  const { find, keep } = requests(options);

  app.get(
    "/admin/v1/login-requests/:challenge",
    async ({ params: { challenge }, query: { user_id } }) => {
      const { application, redirectUri, scopes, expiresAt } = await find(challenge);
      const { id, name, client_type } = application;
      const consents = user_id === undefined ? [] : await store.consents.ofUser(user_id);
      const consent = consents.find(({ application_id }) => application_id === id);
      const remembered = mayReuseConsent(redirectUri, client_type) ? (consent?.scopes ?? []) : [];
      return {
        application: { id, name, client_type },
        redirect_uri: redirectUri,
        scopes,
        ...(user_id !== undefined && {
          remembered_scopes: scopes.filter((scope) => remembered.includes(scope)),
        }),
        expires_at: isoTime(expiresAt),
        message: "OK",
      };
    },
    {
      roles: readers,
      params: ChallengeParams,
      query: UserQuery,
      response: { 200: FoundRequest },
      errors: ["not_found"],
      detail: {
        operationId: "getLoginRequest",
        tags: ["Sign-in"],
        description: "Which application a browser comes from, and what it wants to be allowed.",
      },
    },
  );

  app.put(
    "/admin/v1/login-requests/:challenge/accept",
    async ({ params: { challenge }, body: { user_id: userId, scopes, remember = true } }) => {
      const asked = await find(challenge);
      const granted = scopes ? parseScopes(scopes.join(" ")) : asked.scopes;
      if (!granted || granted.length === 0 || granted.some((scope) => !asked.scopes.includes(scope))) {
        const message = `may hold ${asked.scopes.join(" and ")}`;
        throw invalidFields([{ in: "body", field: "scopes", message }]);
      }
      return keep(challenge, { userId, scopes: granted, remember });
    },
    {
      roles: operators,
      params: ChallengeParams,
      body: AcceptInput,
      response: { 200: Answered },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "acceptLoginRequest",
        tags: ["Sign-in"],
        description: "A user logged in and consented. The first answer to a request holds.",
      },
    },
  );

  app.put(
    "/admin/v1/login-requests/:challenge/reject",
    async ({ params: { challenge }, body }) => {
      const { error = "access_denied", error_description: errorDescription = null } = body ?? {};
      return keep(challenge, { error, errorDescription });
    },
    {
      roles: operators,
      params: ChallengeParams,
      body: Type.Optional(RejectInput),
      response: { 200: Answered },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "rejectLoginRequest",
        tags: ["Sign-in"],
        description: "The user did not log in, or did not consent. The first answer to a request holds.",
      },
    },
  );
}

function requests({ store, now, publicUrl }: AdminDeps) {
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
