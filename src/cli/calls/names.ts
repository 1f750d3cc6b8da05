import type { Client } from "../../client/create-client.ts";
import { builtInEventNames } from "../../domain/events/built-in.ts";
import type { RegisteredEventType } from "../../domain/events/catalogue.ts";
import { didYouMean } from "../../server/settings/command-line.ts";
import { UsageError } from "../command.ts";
import type { ListPage } from "../output/output.ts";
import type { AdminApi } from "./admin-api.ts";

/*
 * What the user of a command names: applications, users and event types.
 */

interface Named {
  readonly id: string;
  readonly name: string;
}

const path = "/admin/v1/applications";
/** The maximum number of applications in one answer. */
const mostAtOnce = 100;

const idForm = /^[0-9A-Z]{26}$/;

/** Returns the id of the application with this id or name, in any case. Throws if it is not exactly one. */
export async function applicationId(api: AdminApi, idOrName: string): Promise<string> {
  if (idForm.test(idOrName)) return idOrName;
  const { data, pagination } = await api.get<ListPage<Named>>(path, { name: idOrName, limit: mostAtOnce });
  if (pagination.has_more)
    throw new Error(
      `The names of more than ${mostAtOnce} applications contain "${idOrName}": name one by its id, which "onair apps list" shows`,
    );
  const [found, ...others] = data.filter(({ name }) => name.toLowerCase() === idOrName.toLowerCase());
  if (found && others.length === 0) return found.id;
  if (found) {
    const ids = [found, ...others].map(({ id }) => id).join(", ");
    throw new Error(`Several applications are called "${idOrName}": name one by its id: ${ids}`);
  }
  const some = await api.get<ListPage<Named>>(path, { limit: mostAtOnce });
  const names = some.data.map(({ name }) => name);
  const meant = didYouMean(idOrName, names);
  throw new Error(`There is no application "${idOrName}".${meant} "onair apps list" lists all.`);
}

interface FoundUser {
  readonly id: number;
  readonly username: string;
}

/** Returns the id of the user with this id or username, in any case. Throws a `UsageError` for an unknown username. */
export async function userId(api: AdminApi, user: string): Promise<number> {
  if (/^[0-9]{1,16}$/.test(user)) return Number(user);
  const query = { query: user, limit: 1 };
  const { data } = await api.get<{ data: FoundUser[] }>("/admin/v1/users/search", query);
  const found = data.find(({ username }) => username.toLowerCase() === user.toLowerCase());
  if (found) return found.id;
  const names = data.map(({ username }) => username);
  throw new UsageError(
    `--broadcaster must be a username or a user id, and there is no user "${user}".${didYouMean(user, names)}`,
  );
}

/** Returns the id of a user by id or username, by the public API. Throws an `OnairError` for an unknown username. */
export async function broadcasterId(api: Client, user: string): Promise<number> {
  if (/^[0-9]{1,16}$/.test(user)) return Number(user);
  const { user: found } = await api.get("/public/v1/users/{username}", {
    params: { path: { username: user } },
  });
  return found.id;
}

/** An object of an application. */
interface Owned {
  readonly id: string;
  readonly app_id: string;
}

/**
 * Returns a function that adds the names of their applications to up to 100 objects; null for a deleted application.
 * Known names are not requested again.
 */
export function withApplicationNames(api: AdminApi) {
  const names = new Map<string, string>();
  return async <T extends Owned>(objects: readonly T[]) => {
    const wanted = [...new Set(objects.map(({ app_id }) => app_id))].filter((id) => !names.has(id));
    if (wanted.length > 0) {
      const query = new URLSearchParams(wanted.map((id): [string, string] => ["id", id]));
      query.set("limit", String(mostAtOnce));
      const { data } = await api.get<ListPage<Named>>(`${path}?${query}`);
      for (const { id, name } of data) names.set(id, name);
    }
    return objects.map(({ id, app_id, ...rest }) => {
      return { id, app_id, app_name: names.get(app_id) ?? null, ...rest };
    });
  };
}

/** Event types of Twitch, and the types that correspond to them; docs/from-twitch.md has the same table. */
const namesOnTwitch: Readonly<Record<string, string>> = {
  "channel.chat.message": "chat.message.sent",
  "channel.follow": "channel.followed",
  "channel.subscribe": "channel.subscription.new",
  "channel.subscription.message": "channel.subscription.renewal",
  "channel.subscription.gift": "channel.subscription.gifts",
  "channel.channel_points_custom_reward_redemption.add": "channel.reward.redemption.updated",
  "channel.channel_points_custom_reward_redemption.update": "channel.reward.redemption.updated",
  "stream.online": "livestream.status.updated",
  "stream.offline": "livestream.status.updated",
  "channel.update": "livestream.metadata.updated",
  "channel.ban": "moderation.banned",
  "channel.cheer": "kicks.gifted",
};

/** Returns " Did you mean …?" for an unknown event type, also for one of Twitch; "" when no known type is close. */
export function didYouMeanType(name: string, known: readonly string[]): string {
  const meant = Object.hasOwn(namesOnTwitch, name) ? namesOnTwitch[name] : undefined;
  return meant !== undefined && known.includes(meant) ? ` Did you mean ${meant}?` : didYouMean(name, known);
}

/** An event type with a version. */
interface TypeVersion {
  readonly name: string;
  readonly version: number;
}

/**
 * Returns the named event types with the requested version, by default the newest version. Throws a `UsageError` for a
 * type that the platform does not have.
 */
export async function knownTypes(
  api: Client,
  names: readonly string[],
  version: number | undefined,
): Promise<TypeVersion[]> {
  const { data } = await api.get("/public/v1/events/types");
  return names.map((name) => {
    const versions = data.filter((type) => type.name === name).map((type) => type.version);
    if (versions.length > 0) return { name, version: version ?? Math.max(...versions) };
    const meant = didYouMeanType(name, [...new Set(data.map((type) => type.name))]);
    throw new UsageError(
      `There is no event type ${name}.${meant} "onair events types" lists the built-in ones.`,
    );
  });
}

/** Fetches the event types that the platform registered. */
export async function registeredTypes(api: AdminApi): Promise<RegisteredEventType[]> {
  const path = "/admin/v1/event-types";
  return (await api.get<{ data: RegisteredEventType[] }>(path)).data;
}

/** Returns the requested version of an event type, by default the newest. Throws a `UsageError` for an unknown one. */
export function newestOf<Type extends TypeVersion>(
  types: readonly Type[],
  { name, version }: { readonly name: string; readonly version: number | undefined },
): Type {
  const versions = types.filter((type) => type.name === name);
  const found = versions.filter((type) => version === undefined || type.version === version);
  const newest = found.sort((a, b) => b.version - a.version)[0];
  if (newest) return newest;
  const what = versions.length > 0 ? `version ${version} of ${name}` : `event type ${name}`;
  const meant = versions.length > 0 ? "" : didYouMeanType(name, builtInEventNames);
  throw new UsageError(`There is no ${what}.${meant} "onair events types" lists all.`);
}
