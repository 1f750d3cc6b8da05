import { nonEmpty, pageUrl, type SettingTable, yesOrNo } from "./setting-values.ts";

/** Settings of user logins and of the platform's own tokens. */
export const signInSettings = {
  loginUrl: {
    value: "URL",
    default: null,
    help: "the platform's login and consent page; without it users cannot authorize applications",
    read: pageUrl,
  },
  jwksUrl: {
    value: "URL",
    default: null,
    help: "keys of the platform's own access tokens (JWTs), which are then accepted",
    read: pageUrl,
  },
  jwtIssuer: { value: "ISSUER", default: null, help: "who must have issued them (iss)", read: nonEmpty },
  jwtAudience: {
    value: "AUDIENCE",
    default: null,
    help: "the audience (aud) that they must name",
    read: nonEmpty,
  },
  jwtAppWithoutSub: {
    default: "false",
    help: "take those without a subject (sub) as tokens of the application itself",
    read: yesOrNo,
  },
} satisfies SettingTable;
