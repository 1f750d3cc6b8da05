import { between, pick, type Random } from "../../../src/dev/chance.ts";
import { oddTexts } from "../requests/vocabulary.ts";
import type { Answered, Call, Pair } from "./pair.ts";

/** Names that meet often, and odd ones. */
export function text(random: Random): string {
  if (random() < 0.3)
    return pick(random, ["Chess", "chess", "Chess Club", "Cheß Club", "Just Chatting", "Music"]);
  return pick(random, oddTexts);
}

/** A part of a text, by code points. */
export function partOf(random: Random, whole: string): string {
  const points = [...whole];
  const from = Math.floor(random() * points.length);
  return points.slice(from, from + 3 + Math.floor(random() * 4)).join("");
}

/** An application that calls, with its tokens, the newest last. */
export interface Caller {
  readonly id: string;
  secret: string;
  readonly tokens: string[];
}

/** What requests of one run choose from. */
export class World {
  callers: Caller[] = [];
  readonly #seen = new Map<string, string[]>();

  constructor(
    readonly pair: Pair,
    readonly random: Random,
  ) {}

  call(call: Call): Promise<Answered> {
    const isOthers = call.path.startsWith("/admin") && this.chance(0.03);
    return this.pair.call(isOthers ? { ...call, key: this.known("keys") } : call);
  }

  pick<T>(items: readonly T[]): T {
    return pick(this.random, items);
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  between(low: number, high: number): number {
    return between(this.random, low, high);
  }

  /** Remembers what answers have shown. */
  see(kind: string, values: readonly unknown[]): void {
    const seen = this.#seen.get(kind) ?? [];
    this.#seen.set(kind, [...seen, ...values.map(String)].slice(-200));
  }

  forget(kind: string): void {
    this.#seen.delete(kind);
  }

  /** Something that answers have shown, mostly; else something unknown. */
  known(kind: string): string {
    const seen = this.#seen.get(kind) ?? [];
    if (seen.length === 0 || this.chance(0.05)) return this.pick(["01KATHZX5M9S3E6R8B2D4F7G1H", "unknown"]);
    return this.pick(seen);
  }

  caller(): Caller {
    return this.pick(this.chance(0.5) ? this.callers.slice(0, 1) : this.callers);
  }

  /** A token of an application or of one of its users. */
  token(): string | undefined {
    const { tokens } = this.caller();
    return this.chance(0.85) ? tokens.at(-1) : this.pick(tokens);
  }

  /** A number of a user, channel or category: few, so that requests meet; seldom one at an edge. */
  id(): number {
    return this.chance(0.97)
      ? this.between(1, this.chance(0.6) ? 4 : 12)
      : this.pick([0, 13, 2 ** 31, 2 ** 53 - 1]);
  }
}

/** Some of the fields. */
export function some<T extends object>(world: World, fields: T, share = 0.4): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(() => world.chance(share))) as Partial<T>;
}

/** A query of some of these parameters. */
export function query(world: World, parameters: Readonly<Record<string, unknown>>, share = 0.35): string {
  const chosen = Object.entries(some(world, parameters, share));
  return chosen
    .map(([name, value], i) => `${i ? "&" : "?"}${name}=${encodeURIComponent(String(value).toWellFormed())}`)
    .join("");
}

/** A kind of request, or several that belong together. */
export type Step = (world: World) => Promise<unknown>;

/** Asks for a list and some of its next pages; all that they hold. */
export async function pages(
  world: World,
  path: string,
  token?: string,
  most = 4,
): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (let page = 0, cursor = ""; page < most; page++) {
    const at = `${path}${path.includes("?") ? "&" : "?"}${cursor && `cursor=${cursor}`}`;
    const { body } = await world.call({ method: "GET", path: at, token });
    const { data, categories, pagination } = body as Partial<{
      data: Record<string, unknown>[];
      categories: Record<string, unknown>[];
      pagination: { cursor: string };
    }>;
    rows.push(...(Array.isArray(data) ? data : (categories ?? [])));
    cursor = pagination?.cursor ?? "";
    if (cursor === "") break;
  }
  return rows;
}
