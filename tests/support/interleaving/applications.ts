import { pick } from "../../../src/dev/chance.ts";
import { checkProfile, userOf } from "./users.ts";
import { type Random, Register, type Scene, Turns, type World } from "./world.ts";

/*
 * Applications that are disabled and enabled, lose and get scopes and tokens, and have another rate limit in each
 * version, by which an answer tells which version it was admitted by.
 */

const applicationCount = 4;
const tokensLookedAt = 3;
const leastLimit = 5_000_000;

interface Settings {
  readonly stamp: number;
  readonly reads: boolean;
  readonly disabled: boolean;
}

interface Token {
  readonly secret: string;
  readonly reads: boolean;
  readonly isGood: Register<boolean>;
}

interface Bot {
  readonly id: string;
  readonly settings: Register<Settings>;
  now: Settings;
  readonly tokens: Token[];
}

/** A new application; gives its id and a token. */
export async function newApplication(
  world: World,
  fields: object = {},
): Promise<{ id: string; token: string }> {
  const made = await world.admin("POST", "/admin/v1/applications", { name: "Bot", ...fields });
  const { id } = JSON.parse(made.text) as { id: string };
  return { id, token: await newToken(world, id) };
}

async function newToken(world: World, id: string): Promise<string> {
  const made = await world.admin("POST", `/admin/v1/applications/${id}/tokens`, {});
  return (JSON.parse(made.text) as { access_token: string }).access_token;
}

const scopesOf = ({ reads }: Settings) => (reads ? ["users:read", "events:subscribe"] : ["events:subscribe"]);
const changesOf = (settings: Settings) => {
  const { stamp, disabled } = settings;
  return { rate_limit: leastLimit + stamp, scopes: scopesOf(settings), disabled };
};

export async function applications(world: World): Promise<Scene> {
  const anchorId = 900;
  const versionOf = (stamp: number) => ({ id: anchorId, name: "anchor", stamp });
  const anchor = new Register<ReturnType<typeof versionOf> | null>(null);
  /** Several may do this at once. */
  const putAnchor = async () => {
    const version = versionOf(world.stamp());
    const { id, ...fields } = userOf(version);
    await world.change([anchor.begin(version)], () =>
      world.admin("PUT", `/admin/v1/users/${anchorId}`, fields),
    );
  };

  const addToken = async ({ id, now, tokens }: Bot) => {
    tokens.push({ secret: await newToken(world, id), reads: now.reads, isGood: new Register(true) });
  };

  const bots = new Turns<Bot>([]);
  const makeBot = async (): Promise<Bot> => {
    const now: Settings = { stamp: world.stamp(), reads: true, disabled: false };
    const { id, token } = await newApplication(world, { rate_limit: leastLimit + now.stamp });
    const first: Token = { secret: token, reads: true, isGood: new Register(true) };
    return { id, now, settings: new Register(now), tokens: [first] };
  };

  const change = async (bot: Bot, random: Random) => {
    if (random() < 0.3) {
      const writes = bot.tokens.slice(-1).map(({ isGood }) => isGood.begin(false));
      await world.change(writes, () => world.admin("DELETE", `/admin/v1/applications/${bot.id}/tokens`));
      await addToken(bot);
      return;
    }
    bot.now = { stamp: world.stamp(), reads: random() < 0.7, disabled: random() < 0.3 };
    await world.change([bot.settings.begin(bot.now)], () =>
      world.admin("PATCH", `/admin/v1/applications/${bot.id}`, changesOf(bot.now)),
    );
  };

  /** What may come of a request with a token: its status, and the limit by which it was admitted. */
  const outcome = (settings: Settings, token: Token, isGood: boolean): string => {
    if (!isGood || settings.disabled) return "401 without a limit";
    return `${settings.reads && token.reads ? 200 : 403} with ${leastLimit + settings.stamp}`;
  };

  const check = async (bot: Bot, token: Token) => {
    const path = "/public/v1/users/Anchor";
    const seen = await world.ask(path, { token: token.secret });
    const limit = seen.headers.get("ratelimit-limit");
    const shown = `${seen.status} ${limit === null ? "without a limit" : `with ${limit}`}`;
    const possible = bot.settings
      .possible(seen.span)
      .flatMap(({ value: settings }) =>
        token.isGood.possible(seen.span).map(({ value: isGood }) => outcome(settings, token, isGood)),
      );
    if (!possible.includes(shown)) world.wrong("a token check", { shown, possible, text: seen.text });
    else if (seen.status === 200) checkProfile(world, path, seen, anchor);
  };

  await putAnchor();
  const all = bots.all as Bot[];
  for (let i = 0; i < applicationCount; i++) all.push(await makeBot());
  return {
    actions: [
      {
        name: "change an application",
        weight: 6,
        run: (random) => bots.take(random, (bot) => change(bot, random)),
      },
      { name: "change a user at will", weight: 3, run: putAnchor },
      {
        name: "check a token",
        weight: 16,
        run: (random) => {
          const bot = bots.any(random);
          return check(bot, pick(random, bot.tokens.slice(-tokensLookedAt)));
        },
      },
    ],
    async settled() {
      for (const bot of bots.all) for (const token of bot.tokens) await check(bot, token);
    },
  };
}
