import { createContext } from "preact";
import { useContext, useRef } from "preact/hooks";
import { admin, dataOf, session } from "../client.ts";
import { useLoad } from "../load.ts";
import type { FoundUsers } from "../session.ts";

/*
 * Look-ups of users, for pages that are both in the portal and in the console.
 */

export type FoundUser = FoundUsers["data"][number];

interface UserSource {
  /** Finds users by a part of either name or an id. */
  find(text: string, signal: AbortSignal): Promise<readonly FoundUser[]>;
  byIds(ids: readonly number[], signal: AbortSignal): Promise<readonly FoundUser[]>;
}

/** The most users that are offered. */
const offered = 20;
/** The most users of one look-up by ids. */
const idsAtOnce = 100;
const longestText = 100;

/** The users as an operator finds them. */
const adminUsers: UserSource = {
  find: (text, signal) => {
    const query = { query: text.slice(0, longestText), limit: offered };
    return dataOf(admin.GET("/admin/v1/users/search", { params: { query }, signal }));
  },
  byIds: (id, signal) => dataOf(admin.GET("/admin/v1/users", { params: { query: { id: [...id] } }, signal })),
};

/** The users as an application's developer finds them. */
export const portalUsers: UserSource = {
  async find(text, signal) {
    const query = new URLSearchParams({ find: text.slice(0, longestText) });
    return (await session<FoundUsers>("GET", { signal }, `users?${query}`)).data;
  },
  byIds: async (ids, signal) => (await session<FoundUsers>("GET", { signal }, `users?id=${ids}`)).data,
};

const Source = createContext<UserSource>(adminUsers);
export const UserSourceProvider = Source.Provider;

export function useUserSource(): UserSource {
  return useContext(Source);
}

/**
 * Returns users by id. Known ones are not requested again. An id without an entry is of no user, or not known yet, or
 * its look-up was refused.
 */
export function useUsers(ids: readonly (number | null)[]): ReadonlyMap<number, FoundUser> {
  const source = useUserSource();
  const known = useRef(new Map<number, FoundUser | null>());
  const wanted = [...new Set(ids)].filter((id) => id !== null && !known.current.has(id)) as number[];
  const requested = wanted.slice(0, idsAtOnce);
  useLoad(
    async (signal) => {
      if (requested.length === 0) return;
      const found = await source.byIds(requested, signal).catch((error) => {
        if (signal.aborted) throw error;
        return [];
      });
      for (const id of requested) known.current.set(id, null);
      for (const user of found) known.current.set(user.id, user);
    },
    [requested.join()],
  );
  const users = [...known.current].flatMap(([id, user]) => (user ? [[id, user] as const] : []));
  return new Map(users);
}
