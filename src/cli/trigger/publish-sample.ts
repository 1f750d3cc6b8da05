import { didYouMean } from "../../config/command-line.ts";
import { builtInEventTypes } from "../../domain/events/catalogue.ts";
import type { RegisteredEventType } from "../../domain/events/registered.ts";
import type { User } from "../../domain/users.ts";
import { type AdminApi, withAdminApi } from "../client/admin-api.ts";
import type { Target } from "../client/target.ts";
import { UsageError } from "../command.ts";
import { eventNames } from "../completion/event-names.ts";
import { countOf } from "../output/format.ts";
import type { Output } from "../output/output.ts";
import { print } from "../output/print.ts";
import { type Assignment, withAssignments } from "./set-path.ts";

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
