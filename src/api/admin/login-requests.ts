import { type Static, Type } from "@sinclair/typebox";
import { clientTypes, mayReuseConsent } from "../../domain/applications.ts";
import { invalidField } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { maxId } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import {
  type LoginAnswer,
  type LoginRequest,
  loginAnswered,
  loginLimits,
  newSecret,
  noLoginRequest,
  parseScopes,
  rejections,
  scopesNamed,
  secretHash,
} from "../../domain/tokens.ts";
import { oneOf } from "../../domain/validation/fields.ts";
import { answer, answerOf } from "../http/answers.ts";
import {
  IntegerParameter,
  IsoTimestamp,
  Message,
  named,
  optionalFields,
  otherFieldsIgnored,
  TextParameter,
} from "../http/parameters.ts";
import { exampleApplication } from "./application-fields.ts";
import { type AdminDeps, type AdminListener, operators, readers } from "./listener.ts";

const ChallengeParams = Type.Object({
  challenge: TextParameter({
    description:
      "The `login_challenge` with which the browser came to the login page, valid for 30 minutes. It contains the request, encrypted: usually some 400 characters, more with a long `state` or redirect URI.",
    examples: ["onair_lc_4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6pL"],
    maxLength: loginLimits.maxChallengeLength,
  }),
});

const UserQuery = Type.Object({
  user_id: Type.Optional(
    IntegerParameter({
      minimum: 1,
      maximum: maxId,
      description: "Id of the logged-in user. Needed for `remembered_scopes`.",
      examples: [exampleUser.id],
    }),
  ),
});

const AcceptInput = Type.Object(
  {
    user_id: Type.Integer({ minimum: 1, maximum: maxId, description: "Id of the user who logged in." }),
    scopes: Type.Optional(
      Type.Array(Type.String({ maxLength: 100 }), {
        minItems: 1,
        maxItems: 20,
        description:
          "Scopes that the user granted: some or all of the requested ones. The default is all of them.",
      }),
    ),
    remember: Type.Optional(
      Type.Boolean({ default: true, description: "Whether to store the consent for later requests." }),
    ),
  },
  {
    $id: "AcceptInput",
    description: "The user who logged in, and the granted scopes.",
    ...otherFieldsIgnored,
    examples: [{ user_id: exampleUser.id, scopes: ["users:read"] }],
  },
);

const RejectInput = Type.Object(
  optionalFields({
    error: oneOf(rejections, {
      default: "access_denied",
      description: "Error code for the application (RFC 6749, section 4.1.2.1).",
    }),
    error_description: Type.String({
      maxLength: 200,
      pattern: "^[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*$",
      errorMessage: "must be printable ASCII without quotation marks and backslashes",
      description: "Description of the error for the application.",
    }),
  }),
  {
    $id: "RejectInput",
    description: "The reason why the login or the consent failed.",
    ...otherFieldsIgnored,
    examples: [{ error_description: "The user denied access" }],
  },
);

const LoginRequestSchema = named("LoginRequest", "An application's request for the consent of a user.", {
  application: named("AskingApplication", "The application that requests consent.", {
    id: Type.String({ description: "Id of the application." }),
    name: Type.String({ description: "Name of the application." }),
    client_type: oneOf(clientTypes, {
      description: "OAuth client type. A `public` client has no client secret.",
    }),
  }),
  redirect_uri: Type.String({ description: "URI to which the browser is finally redirected." }),
  scopes: Type.Array(Type.String(), { description: "Requested scopes." }),
  remembered_scopes: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "Requested scopes to which the user `user_id` has consented before. If these are all of `scopes`, no new consent is needed. Always empty for a public client whose redirect URI is not https.",
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
    redirect_to: Type.String({
      format: "uri",
      description: "URL to which to redirect the browser. It works once.",
    }),
    message: Message,
  },
  {
    name: "LoginAnswer",
    description: "The URL to which to redirect the browser.",
    example: {
      redirect_to:
        "http://127.0.0.1:8080/oauth/authorize?login_verifier=onair_lv_0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ",
      message: "OK",
    },
  },
);

/** Login requests: get, accept and reject. */
export function loginRequestRoutes(app: AdminListener, options: AdminDeps): void {
  const { store } = options;
  const { find, keep } = requests(options);

  app.get(
    "/admin/v1/login-requests/:challenge",
    async ({ params: { challenge }, query: { user_id } }) => {
      const { application, request, scopes } = await find(challenge);
      if (await store.loginRequests.isAnswered(secretHash(challenge))) throw loginAnswered();
      const { id, name, client_type } = application;
      const consents = user_id === undefined ? [] : await store.consents.ofUser(user_id);
      const consent = consents.find(({ application_id }) => application_id === id);
      const remembered = mayReuseConsent(request.redirectUri, client_type) ? (consent?.scopes ?? []) : [];
      return {
        application: { id, name, client_type },
        redirect_uri: request.redirectUri,
        scopes,
        ...(user_id !== undefined && {
          remembered_scopes: scopes.filter((scope) => remembered.includes(scope)),
        }),
        expires_at: isoTime(request.expiresAt),
        message: "OK",
      };
    },
    {
      roles: readers,
      params: ChallengeParams,
      query: UserQuery,
      response: { 200: FoundRequest },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "getLoginRequest",
        tags: ["Sign-in"],
        description:
          "Returns a login request: the application, and the scopes that it requests. A request that has been accepted or rejected gets 409.",
      },
    },
  );

  app.put(
    "/admin/v1/login-requests/:challenge/accept",
    async ({ params: { challenge }, body: { user_id: userId, scopes, remember = true } }) => {
      const loginRequest = await find(challenge);
      const granted = scopes ? parseScopes(scopes.join(" ")) : loginRequest.scopes;
      if (!granted || granted.length === 0 || granted.some((scope) => !loginRequest.scopes.includes(scope))) {
        const message = `may hold ${loginRequest.scopes.join(" and ")}`;
        throw invalidField("body", "scopes", message);
      }
      return keep(challenge, loginRequest.request, { userId, scopes: granted, remember });
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
        description:
          "Reports that a user logged in and consented. Only the first acceptance or rejection of a request counts.",
      },
    },
  );

  app.put(
    "/admin/v1/login-requests/:challenge/reject",
    async ({ params: { challenge }, body }) => {
      const { error = "access_denied", error_description: errorDescription = null } = body ?? {};
      return keep(challenge, (await find(challenge)).request, { error, errorDescription });
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
        description:
          "Reports that the user did not log in or consent. Only the first acceptance or rejection of a request counts.",
      },
    },
  );
}

function requests({ store, challenges, now, publicUrl }: AdminDeps) {
  return {
    /** Returns the request of a challenge, whether it is answered or not. Throws `not_found`. */
    async find(challenge: string) {
      const request = challenges.read(challenge, now());
      const application = request && (await store.applications.find(request.applicationId));
      if (!application) throw noLoginRequest();
      return { request, scopes: scopesNamed(request.scopes), application };
    },
    async keep(
      challenge: string,
      request: LoginRequest,
      loginAnswer: LoginAnswer,
    ): Promise<Static<typeof Answered>> {
      const verifier = newSecret("onair_lv_");
      const hashes = { challenge: secretHash(challenge), verifier: secretHash(verifier) };
      await store.loginRequests.answer(request, loginAnswer, hashes);
      return { redirect_to: `${publicUrl()}/oauth/authorize?login_verifier=${verifier}`, message: "OK" };
    },
  };
}
