import fc from "fast-check";
import { redirectUri } from "../oauth.ts";
import { mark } from "./input.ts";

/** Texts that databases compare, fold, search and store in ways of their own. */
const oddTexts: readonly string[] = [
  ...[
    `Chess|chess|CHESS|Chess Club|Cheß Club|Just Chatting|Music|search`,
    `Ninja|ninja|NINJA|Ninja Fox|ninja_fox|ninjafox|Ninja%|100%_sure|a_b_c|a\\b\\c|\\\\|\\%|%%%|___`,
    `'''|it's|"quoted"|NULL|null|{}|{a,"b"}|\\N|a"b"c|*star*|^caret|NEAR(a b)|a AND b|a OR NOT b`,
    `col:umn|é|éclair|e\u0301clair|ÉCLAIR|E\u0301CLAIR|Straße|STRASSE|ẞig|ﬁne|fine|İstanbul|istanbul`,
    `ısı ısı|ISI ISI|Ωmega|Ωmega|ὈΔΥΣΣΕΎΣ|Ὀδυσσεύς|Ångström|Ångström|ångstrom|Dž dž|ǅ ǆ|日本語|日本語テスト`,
    `ガガガ|ガガガ|カ\u3099カ\u3099|한국어|한국어|हिन्दी|ไทยไทย|مرحبا|שלום|😀😀😀|👩‍👩‍👧‍👦|👍🏽👍🏽|a\u200bb\u200bc`,
    `a\u00adb\u00adc|abc\u0301\u0302\u0303|\u0301\u0302\u0303|𝕏𝕏𝕏|ＡＢＣ|abc|ABC|  abc  |a  b|a\tb`,
    `\u00a0abc\u00a0|²³¹|½½½|ŒUVRE|œuvre|øre|Øre|łódź|Łódź|đđđ|ĐĐĐ|ħħħ|Ŀŀl|ĳĳĳ|ŋŋŋ|abc\ufffdabc`,
    `\u202eabc|\ufeffabc|ϐβΒ|ſſs|K\u212aKk|ꙁꙁꙁ|Ꙁꙁꙁ|ⅷⅧⅷ|ⓐⒶⓐ|ꭰꭰꭰ|ᏸᏰᏸ|𐐀𐐨𐐀|ɐⱯɐ|ʼnŉn|ǰǰǰ|ΐΐΐ|ὖὖὖ|ᾳᾳᾳ|ᾼᾼᾼ`,
  ].flatMap((row) => row.split("|")),
  "x".repeat(100),
  "é".repeat(100),
  "😀".repeat(100),
];

/** Texts that no input may hold, or only some. */
const refusedTexts = ["", "a\u0000b", "a\nb", "\ud800", "a\udc00b", "x".repeat(201), "\u007f\u0085\u2028"];

const odd = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...oddTexts.slice(0, 7)) },
  { weight: 15, arbitrary: fc.constantFrom(...oddTexts) },
  { weight: 1, arbitrary: fc.constantFrom(...refusedTexts) },
);

/** A part of a text, by code points, in any case, composed or not: what is searched. */
const parts = fc
  .tuple(odd, fc.nat(8), fc.integer({ min: 3, max: 6 }), fc.constantFrom("whole", "lower", "upper", "NFD"))
  .map(([whole, from, length, how]) => {
    const points = [...whole];
    const start = from % Math.max(1, points.length - 2);
    const part = points.slice(start, start + length).join("");
    if (how === "lower") return part.toLowerCase();
    if (how === "upper") return part.toUpperCase();
    return how === "NFD" ? part.normalize("NFD") : whole.slice(0, 100);
  });

const usernames = fc.constantFrom(
  ..."Ninja|ninja|NINJA_fox|ninja-fox|fox|FOX|search|a|x_y|xzy|user1|user2|user3|user4".split("|"),
  "z".repeat(64),
);
const times = fc.constantFrom(
  "2020-02-29T23:59:59Z",
  "2026-01-14T16:00:00.5Z",
  "2026-01-14T18:00:00.123456+02:00",
  "0001-01-01T00:00:00Z",
);
const pictures = fc.constantFrom("https://pictures.example/a.png", "", 'https://a.example/?x={1,2}&y="q"');
/** What lists of texts could be confused by. */
const uris = fc.oneof(
  { weight: 4, arbitrary: fc.constant(redirectUri) },
  fc.constantFrom(
    'https://a.example/?x={1,2}&y="q"&z=a\\b',
    "https://a.example/?NULL",
    "com.example.app:/NULL",
    "https://a.example/'",
  ),
);
const slugs = odd.map((text) => text.replace(/\s/g, "-").slice(0, 150));
/** Times that platforms know, the newest first. */
const newer = fc.integer({ min: 0, max: 3 }).map((index) => mark("times", index));
const older = fc.integer({ min: 1, max: 6 }).map((index) => mark("times", index));
const some = (kind: string) => fc.nat({ max: 29 }).map((index) => mark(kind, index));

/** Values that fields and parameters of these names mostly have, so that requests meet. */
export const fieldsNamed: Readonly<Record<string, fc.Arbitrary<string>>> = {
  name: fc.oneof(odd, parts),
  display_name: odd,
  bio: odd.map((text) => `${text}\n${text}`),
  description: odd,
  title: odd,
  tags: odd,
  username: usernames,
  slug: slugs,
  channel: fc.oneof(slugs, usernames),
  query: fc.oneof(parts, usernames),
  q: parts,
  find: parts,
  profile_picture: pictures,
  profile_image: pictures,
  icon: pictures,
  banner: pictures,
  redirect_uris: uris,
  redirect_uri: uris,
  created_at: times,
  started_at: times,
  after: older,
  before: newer,
  from: older,
  to: newer,
  webhook_url: some("webhooks"),
  scope: fc.constantFrom("", "users:read", "events:subscribe users:read", "x"),
  scopes: fc.constantFrom("users:read", "events:subscribe", "users:read", "events:subscribe", "no:such"),
  grant_type: fc.constantFrom("client_credentials", "refresh_token", "authorization_code", "x"),
  token_type_hint: fc.constantFrom("access_token", "refresh_token", "x"),
  "Idempotency-Key": fc.nat({ max: 20 }).map((index) => `key-${index}`),
  "Last-Event-ID": some("cursors"),
};

/** Values that are no texts, or have a form that their schema does not tell. */
export const valuesNamed: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  broadcaster_user_id: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 8 }) },
    fc.constantFrom(null, 0, 13, 2 ** 53 - 1),
  ),
  // Excludes `from`.
  since: fc.constantFrom(undefined, undefined, undefined, "last_failure"),
  version: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 2),
  rate_limit: fc.constantFrom(0, 100, null, 10_000_000),
  followers_count: fc.constantFrom(0, 1, 7, 7, 8, 2 ** 31, 2 ** 53 - 1),
  // Some match the events that are published, some do not, and some are refused.
  filters: fc.constantFrom(
    null,
    {},
    { "channel.followed": { follower: { username: "ninja_fox" } }, "chat.message.sent": null },
    { "channel.followed": { follower: { username: "nobody" } } },
    { "kicks.gifted@1": { gift: { amount: { $gt: 1 } } } },
    { "kicks.gifted@1": { gift: { amount: { $gt: 1e6 } } }, "chat.message.sent": null },
    { "chat.message.sent": { content: { $regex: "record" } } },
    { "chat.message.sent": { content: { $startsWith: "!" } } },
    { "chat.message.sent": { content: { $startWith: "!" } } },
    { "raffle.won": { winner: "maya" } },
  ),
  webhook_headers: fc.constantFrom({}, { "X-Key": "a" }, { "x-key": null }, null),
};
