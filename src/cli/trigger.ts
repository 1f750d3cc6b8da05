import { builtInEventNames, builtInEventTypes } from "../domain/events/built-in.ts";
import { happeningAt, inChannelOf } from "../domain/events/event-type.ts";
import type { User } from "../domain/users.ts";
import { inexactMessage, inexactNumbers } from "../domain/validation/json.ts";
import {
  command,
  type OptionValues,
  type Reading,
  readForward,
  readNumber,
  repeatable,
  switches,
  valued,
} from "./arguments.ts";
import { type AdminApi, isServed, withAdminApi } from "./calls/admin-api.ts";
import { checkReceiver, readSigningSecret, sendSample } from "./calls/local-program.ts";
import { newestOf, registeredTypes, userId } from "./calls/names.ts";
import {
  NoDataError,
  namesData,
  readTarget,
  refuseContent,
  type Target,
  targetHelp,
  targetOptions,
} from "./calls/target.ts";
import { UsageError } from "./command.ts";
import type { Output } from "./output/output.ts";
import { counted, countOf, print } from "./output/print.ts";

const help = `Usage: onair trigger <type> --forward URL --secret SECRET [--once] [options]
       onair trigger <type> [--broadcaster USER] [options]

Makes an event from the example of its type. "onair events types" lists the types.

With --forward, no server is needed: the event is sent to a local program, signed like a webhook.
Then the program is checked: how it answers a wrong signature, an old timestamp and a repeated id,
and how long its answers take. Each answer is shown beside the expected one.

Without --forward, the platform publishes the event to all its subscriptions.

  --forward URL  the local program, like http://localhost:3000/webhook
  --secret SECRET
                 the secret that the program verifies with, whsec_… (ONAIR_WEBHOOK_SECRET)
  --once         with --forward: only send the event, without checks
  --count N      make N such events, one after another, each with an id of its own; at most 10,000.
                 With --forward it needs --once. With --json one line for each
  --set PATH=VALUE
                 change the example, like sender.username=maya or giftees[0].user_id=7; may be
                 repeated. A value that is valid JSON is used as such, any other as a string
  --version N    the version of the type (default: the newest)
  --broadcaster USER
                 the channel's owner, by username or user id (default: the platform's first user);
                 with --forward by user id
${targetHelp}
  --json         print the answers, or the event, as JSON

Exit code: 0 on success, 1 on failure or if the program does not behave as it should, for example
accepts a wrong signature, 2 for wrong usage.
`;

const options = {
  ...targetOptions,
  ...switches("json", "once"),
  ...valued("forward", "secret", "broadcaster", "version", "count"),
  ...repeatable("set"),
};
type Values = OptionValues<typeof options>;

export const trigger = command({
  summary: "make a sample event: check a local receiver with it, or publish it",
  help,
  options,
  needs: 'the type of the event, one of "onair events types",',
  candidates: builtInEventNames,
  async run({ words: [name = ""], values, env, out, mistakes, check }) {
    const sample = readSample(name, values, mistakes);
    const { once, forward } = values;
    const count = readNumber("count", values.count, mistakes, 1) ?? 1;
    if (count > mostEvents) mistakes.push(`--count must be at most ${counted(mostEvents)}`);
    if (count > 1 && forward !== undefined && !once) mistakes.push("--count with --forward needs --once");
    refuseContent(
      values,
      'to change the example use --set PATH=VALUE; "onair events publish" takes a file with whole events',
      mistakes,
    );
    if (values.forward !== undefined)
      return checkLocally({ ...sample, count }, values, { env, out, mistakes });
    if (values.secret !== undefined || values.once) mistakes.push("--secret and --once need --forward");
    const target = readTarget(values, env, mistakes);
    check();
    await publishSample(target, { ...sample, count }, out).catch((error) => {
      const isOfDeveloper = error instanceof NoDataError && !namesData(values);
      throw isOfDeveloper ? new UsageError(`${error.message}\n${withoutPlatform(name)}`) : error;
    });
  },
});

const mostEvents = 10_000;

/** Says what a developer can do, who is not the platform's operator. */
const withoutPlatform = (type: string) =>
  `Only operators publish events. For a sample, sent by the platform to your webhook URL: onair test ${type}. To a program on this machine: --forward URL`;

function readSample(name: string, values: Values, mistakes: string[]): SampleRequest {
  const assignments = (values.set ?? []).flatMap((text) => {
    try {
      return [readAssignment(text)];
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      mistakes.push(error.message);
      return [];
    }
  });
  const { broadcaster } = values;
  const version = readNumber("version", values.version, mistakes, 1);
  return { name, version, broadcaster, assignments };
}

/** Sends a sample to a local program, by default with all checks. Returns the exit code. */
async function checkLocally(
  { name, version, broadcaster, assignments, count }: SampleRequest & { readonly count: number },
  { forward = "", secret: ownSecret, once = false, url, data, database }: Values,
  { env, out, mistakes }: Reading,
): Promise<number> {
  const to = readForward(forward, mistakes);
  const channel = readNumber("broadcaster", broadcaster, mistakes, 1);
  if ((url ?? data ?? database) !== undefined)
    mistakes.push("--forward needs no server: leave out --url, --data and --database");
  const secret = readSigningSecret(ownSecret, env, mistakes);
  if (secret === undefined)
    mistakes.push("The secret of the program is missing: give --secret or ONAIR_WEBHOOK_SECRET");
  if (mistakes.length > 0 || secret === undefined) throw new UsageError(mistakes.join("\n"));
  const type = newestOf(builtInEventTypes, { name, version });
  const set = channel === undefined ? assignments : [inChannel(channel), ...assignments];
  const sample = { name, version: type.version, data: withAssignments(type.example, set) };
  const options = { url: to, secret, out };
  if (!once) return (await checkReceiver(sample, options)) ? 0 : 1;
  let accepted = 0;
  for (let i = 0; i < count; i++) if (await sendSample(sample, options)) accepted++;
  return accepted === count ? 0 : 1;
}

const inChannel = (id: number) => ({ path: ["broadcaster", "user_id"], value: id });

/** One `--set path=value`. */
interface Assignment {
  /** Field names and list indexes. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

const pathForm = /^[^.[\]=]+(\.[^.[\]=]+|\[(0|[1-9][0-9]{0,5})\])*$/;

/**
 * Parses `path=value`, as in `sender.username=maya` and `giftees[0].user_id=7`. A value that is valid JSON is parsed,
 * any other value is a string; a string that is valid JSON is quoted: `content="5"`. Throws a `UsageError`, also for a
 * number that would be rounded.
 */
export function readAssignment(text: string): Assignment {
  const equals = text.indexOf("=");
  const path = equals === -1 ? text : text.slice(0, equals);
  if (equals === -1 || !pathForm.test(path)) {
    throw new UsageError(
      `--set ${path} must be a path and a value, like sender.username=maya or giftees[0].user_id=7`,
    );
  }
  const parts = [...path.matchAll(/\[([0-9]+)\]|([^.[\]]+)/g)];
  return {
    path: parts.map(([, index, name = ""]) => (index === undefined ? name : Number(index))),
    value: readValue(path, text.slice(equals + 1)),
  };
}

function readValue(path: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  if (inexactNumbers(text).size > 0) throw new UsageError(`--set ${path} ${inexactMessage}`);
  return value;
}

/**
 * Returns a copy of `sample` with the values at their paths. The last part of a path may be a new field or the index
 * after the last item; everything before it must exist. Throws a `UsageError`.
 */
export function withAssignments(sample: unknown, assignments: readonly Assignment[]): unknown {
  const copy: unknown = structuredClone(sample);
  for (const { path, value } of assignments) assign(copy, path, value);
  return copy;
}

function assign(root: unknown, path: readonly (string | number)[], value: unknown): void {
  let target = root;
  for (const [i, part] of path.entries()) {
    const isLast = i === path.length - 1;
    if (!canSet(target, part, isLast)) {
      const place = shownPath(path.slice(0, i + 1));
      const why =
        typeof part === "number"
          ? "it is not a list, or the list is shorter"
          : "the sample has no such field";
      throw new UsageError(`--set ${shownPath(path)}: there is no ${place}, ${why}`);
    }
    // `defineProperty` calls no setter for a name such as `__proto__`.
    if (isLast) {
      const property = { value, writable: true, enumerable: true, configurable: true };
      Object.defineProperty(target, part, property);
    } else target = (target as Record<string | number, unknown>)[part];
  }
}

function canSet(target: unknown, part: string | number, isLast: boolean): target is object {
  if (Array.isArray(target)) {
    return typeof part === "number" && part < target.length + (isLast ? 1 : 0);
  }
  if (typeof target !== "object" || target === null || typeof part === "number") return false;
  return isLast || Object.hasOwn(target, part);
}

function shownPath(path: readonly (string | number)[]): string {
  return path
    .map((part, i) => (typeof part === "number" ? `[${part}]` : `${i > 0 ? "." : ""}${part}`))
    .join("");
}

/** An event to make from the example of its type. */
interface SampleRequest {
  readonly name: string;
  /** The version of the type; by default the newest version. */
  readonly version: number | undefined;
  /** The broadcaster's username or user id; any user by default. */
  readonly broadcaster: string | undefined;
  readonly assignments: readonly Assignment[];
}

type Broadcaster = Pick<User, "id" | "username" | "is_verified" | "profile_picture">;

/** Publishes the example of an event type as the platform publishes events. */
async function publishSample(
  target: Target,
  sample: SampleRequest & { readonly count: number },
  out: Output,
): Promise<void> {
  const { name, assignments, count } = sample;
  await withAdminApi(target, async (api) => {
    const type = await findType(api, sample);
    const found = await findBroadcaster(api, sample.broadcaster ?? assignedBroadcaster(assignments));
    // Without a server, nothing is known of the address of its default picture.
    const broadcaster = (await isServed(target)) ? await withShownPicture(api, found) : found;
    const event = {
      name,
      version: type.version,
      broadcaster_user_id: broadcaster.id,
      data: withAssignments(inChannelOf(broadcaster, happeningAt(Date.now(), type.example)), assignments),
    };
    const request = { method: "POST", path: "/admin/v1/events", json: event } as const;
    const preview = { ...request, path: "/admin/v1/events/preview" };
    const { filtered } = await api.json<{ filtered: number }>(preview);
    const left = filtered > 0 ? `; filters leave it out for ${countOf(filtered, "other")}` : "";
    const whose = `${broadcaster.username} (${broadcaster.id})`;
    let deliveries = 0;
    for (let i = 0; i < count; i++) {
      const published = await api.json<{ id: string; deliveries: number }>(request);
      ({ deliveries } = published);
      await out.answer(
        { ...published, filtered, ...event },
        `${name} of ${whose} is published as ${published.id}, for ${countOf(deliveries, "subscription")}${left}`,
      );
    }
    if (deliveries === 0 && filtered === 0 && !out.json)
      await print(
        "No application has subscribed to this event of this broadcaster; name another with --broadcaster",
      );
  });
}

interface SampleType {
  readonly name: string;
  readonly version: number;
  readonly example: unknown;
}

async function findType(api: AdminApi, sample: SampleRequest): Promise<SampleType> {
  const isBuiltIn = builtInEventNames.includes(sample.name);
  const types: readonly SampleType[] = isBuiltIn ? builtInEventTypes : await registeredTypes(api);
  return newestOf(types, sample);
}

function assignedBroadcaster(assignments: readonly Assignment[]): string | undefined {
  const id = assignments.findLast(({ path }) => path.join(".") === "broadcaster.user_id")?.value;
  return typeof id === "number" && Number.isSafeInteger(id) && id > 0 ? String(id) : undefined;
}

/** Finds the user with this username or id, by default the first user of the platform. */
async function findBroadcaster(api: AdminApi, user: string | undefined): Promise<Broadcaster> {
  if (user !== undefined) {
    const id = await userId(api, user);
    return (await api.get<{ user: Broadcaster }>(`/admin/v1/users/${id}`)).user;
  }
  const answer = await api.send({ method: "GET", path: "/admin/v1/users/batch" });
  const line = await firstLine(answer);
  if (line === "") throw new Error('The platform has no users yet: import some with "onair import users"');
  return JSON.parse(line) as Broadcaster;
}

/** Returns a user with the picture that the public API shows, which is a default where the user has none. */
async function withShownPicture(api: AdminApi, user: Broadcaster): Promise<Broadcaster> {
  const { picture } = await api.get<{ picture: string }>(`/admin/v1/users/${user.id}`);
  return { ...user, profile_picture: picture };
}

/** Returns the first line of an answer, without reading the rest. */
async function firstLine({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes("\n")) break;
  }
  return text.split("\n", 1)[0] ?? "";
}
