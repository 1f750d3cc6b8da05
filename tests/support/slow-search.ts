import { fold } from "../../src/domain/text.ts";
import type { NewUser } from "../../src/domain/users.ts";

/** The contract's order, slowly and obviously. */
export function slowSearch(users: Iterable<NewUser>, query: string, limit: number): number[] {
  const text = fold(query);
  const rank = (user: NewUser) =>
    fold(user.username) === text ? 0 : fold(user.username).startsWith(text) ? 1 : 2;
  return [...users]
    .filter((user) => fold(user.username).includes(text) || fold(user.display_name).includes(text))
    .sort((a, b) => rank(a) - rank(b) || b.followers_count - a.followers_count || a.id - b.id)
    .slice(0, limit)
    .map(({ id }) => id);
}
