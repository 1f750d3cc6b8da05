import { didYouMean } from "../../server/settings/command-line.ts";
import { UsageError } from "../command.ts";
import type { ListPage } from "../output/output.ts";
import type { AdminApi } from "./admin-api.ts";

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
