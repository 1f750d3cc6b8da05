import { builtInEventTypes } from "../domain/events/built-in.ts";
import type { RegisteredEventType } from "../domain/events/registered.ts";
import type { User } from "../domain/users.ts";
import { inexactMessage, inexactNumbers } from "../domain/validation/json.ts";
import { didYouMean } from "../server/settings/command-line.ts";
import { type AdminApi, withAdminApi } from "./calls/admin-api.ts";
import type { Target } from "./calls/target.ts";
import { UsageError } from "./command.ts";
import { eventNames } from "./event-names.ts";
import type { Output } from "./output/output.ts";
import { countOf, print } from "./output/print.ts";

/** One `--set path=value`. */
interface Assignment {
  /** Field names and list indexes. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

const pathForm = /^[^.[\]=]+(\.[^.[\]=]+|\[(0|[1-9][0-9]{0,5})\])*$/;

/**
 * Parses `path=value`, as in `sender.username=maya` and `giftees[0].user_id=7`. A value that is valid JSON is parsed,
 * any other is a string; quote a string that looks like JSON: `content="5"`. Throws a `UsageError`, also for a number
 * that would be rounded.
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
      const shown = shownPath(path.slice(0, i + 1));
      const why =
        typeof part === "number"
          ? "it is not a list, or the list is shorter"
          : "the sample has no such field";
      throw new UsageError(`--set ${shownPath(path)}: there is no ${shown}, ${why}`);
    }
    // `defineProperty`, so that a name such as `__proto__` calls no setter.
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
export interface SampleRequest {
  readonly name: string;
  /** By default the newest version. */
  readonly version: number | undefined;
  /** The broadcaster's username or user id; any user by default. */
  readonly broadcaster: string | undefined;
  readonly assignments: readonly Assignment[];
}

type Broadcaster = Pick<User, "id" | "username" | "is_verified" | "profile_picture">;

/** Publishes the example of an event type like the platform. */
export async function publishSample(target: Target, sample: SampleRequest, out: Output): Promise<void> {
  const { name, assignments } = sample;
  await withAdminApi(target, async (api) => {
    const type = await findType(api, sample);
    const broadcaster = await findBroadcaster(api, sample.broadcaster ?? assignedBroadcaster(assignments));
    const event = {
      name,
      version: type.version,
      broadcaster_user_id: broadcaster.id,
      data: withAssignments(inChannelOf(broadcaster, type.example), assignments),
    };
    const asked = { method: "POST", path: "/admin/v1/events", json: event } as const;
    const published = await api.json<{ id: string; deliveries: number }>(asked);
    const { id, deliveries } = published;
    const whose = `${broadcaster.username} (${broadcaster.id})`;
    await out.answer(
      { ...published, ...event },
      `${name} of ${whose} is published as ${id}, for ${countOf(deliveries, "subscription")}`,
    );
    if (deliveries === 0 && !out.json)
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
  const isBuiltIn = eventNames.includes(sample.name);
  return newestOf(isBuiltIn ? builtInEventTypes : await registeredTypes(api), sample);
}

/** Returns the requested version of an event type, by default the newest. Throws a `UsageError` when there is none. */
export function newestOf(
  types: readonly SampleType[],
  { name, version }: Pick<SampleRequest, "name" | "version">,
): SampleType {
  const versions = types.filter((type) => type.name === name);
  const found = versions.filter((type) => version === undefined || type.version === version);
  const newest = found.sort((a, b) => b.version - a.version)[0];
  if (newest) return newest;
  const what = versions.length > 0 ? `version ${version} of ${name}` : `event type ${name}`;
  const meant = versions.length > 0 ? "" : didYouMean(name, eventNames);
  throw new UsageError(`There is no ${what}.${meant} "onair events types" lists all.`);
}

/** Fetches the event types that the platform registered. */
export async function registeredTypes(api: AdminApi): Promise<RegisteredEventType[]> {
  const path = "/admin/v1/event-types";
  return (await api.get<{ data: RegisteredEventType[] }>(path)).data;
}

function assignedBroadcaster(assignments: readonly Assignment[]): string | undefined {
  const id = assignments.findLast(({ path }) => path.join(".") === "broadcaster.user_id")?.value;
  return typeof id === "number" && Number.isSafeInteger(id) && id > 0 ? String(id) : undefined;
}

/** Finds the user with this username or id, by default the first user of the platform. */
async function findBroadcaster(api: AdminApi, user: string | undefined): Promise<Broadcaster> {
  if (user !== undefined) {
    const id = /^[0-9]{1,16}$/.test(user) ? user : await idOf(api, user);
    return (await api.get<{ user: Broadcaster }>(`/admin/v1/users/${id}`)).user;
  }
  const answer = await api.send({ method: "GET", path: "/admin/v1/users/batch" });
  const line = await firstLine(answer);
  if (line === "") throw new Error('The platform has no users yet: import some with "onair import users"');
  return JSON.parse(line) as Broadcaster;
}

/** Finds the id of the user with this username. Throws a `UsageError` when there is none. */
async function idOf(api: AdminApi, username: string): Promise<number> {
  const query = { query: username, limit: 1 };
  const { data } = await api.get<{ data: Broadcaster[] }>("/admin/v1/users/search", query);
  const found = data.find((user) => user.username.toLowerCase() === username.toLowerCase());
  if (found) return found.id;
  throw new UsageError(
    `--broadcaster must be a username or a user id, and there is no user "${username}".${didYouMean(
      username,
      data.map((user) => user.username),
    )}`,
  );
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

/** Returns the example with this user as its broadcaster. */
function inChannelOf({ id, username, is_verified, profile_picture }: Broadcaster, example: unknown): unknown {
  const { broadcaster, ...rest } = example as { broadcaster?: unknown };
  if (typeof broadcaster !== "object" || broadcaster === null || !("user_id" in broadcaster)) return example;
  const channel_slug = username.toLowerCase();
  const person = { user_id: id, username, is_verified, profile_picture: profile_picture ?? "", channel_slug };
  const known = Object.entries(person).filter(([field]) => field in broadcaster);
  return { broadcaster: { ...broadcaster, ...Object.fromEntries(known) }, ...rest };
}
