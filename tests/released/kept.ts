import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KeptFacts } from "./kept-data.ts";
import { parts, type Surface, type SurfaceMetric } from "./surface.ts";

/* The files of a release in `tests/released`. */

/** The kinds of databases. */
export type Kind = "sqlite" | "postgres";

/** The names of the releases, such as `1.0`, the earliest first. */
export const releases: readonly string[] = readdirSync(import.meta.dir)
  .filter((name) => /^\d+\.\d+$/.test(name))
  .sort(Bun.semver.order);

export const pathOf = (release: string, file: string) => join(import.meta.dir, release, file);

const readJson = <T>(release: string, file: string) =>
  JSON.parse(readFileSync(pathOf(release, file), "utf8")) as T;

/** Reads the surface of a release. */
export function keptSurface(release: string): Surface {
  return Object.fromEntries(
    parts.map((part) => [part, readJson(release, `${part}.json`)]),
  ) as unknown as Surface;
}

/** What is kept of a release with data of one kind. */
export interface KeptKind {
  readonly facts: KeptFacts;
  readonly metrics: Readonly<Record<string, SurfaceMetric>>;
  readonly schema: readonly string[];
  /** The content of the SQLite file, or the SQL that makes the database. */
  readonly data: Uint8Array;
}

/** Reads what is kept with data of one kind. */
export function keptKind(release: string, kind: Kind): KeptKind {
  const packed = readFileSync(pathOf(release, `${kind}.data.gz`));
  return { ...readJson<Omit<KeptKind, "data">>(release, `${kind}.json`), data: Bun.gunzipSync(packed) };
}

/** Writes what is kept with data of one kind. */
export function keepKind(release: string, kind: Kind, { data, ...rest }: KeptKind): void {
  writeFileSync(pathOf(release, `${kind}.json`), inLines(rest, 2));
  writeFileSync(
    pathOf(release, `${kind}.data.gz`),
    Bun.gzipSync(data as Uint8Array<ArrayBuffer>, { level: 9 }),
  );
}

/** How deep the members of a part have lines of their own, where it is not one. */
const depths: Partial<Record<keyof Surface, number>> = { public: 2, admin: 2, log: 2, migrations: 2 };

/** Writes the surface of a release. */
export function keepSurface(release: string, surface: Surface): void {
  for (const part of parts)
    writeFileSync(pathOf(release, `${part}.json`), inLines(surface[part], depths[part] ?? 1));
}

/** Returns a value as JSON whose objects and lists have a line for each member, down to this depth. */
function inLines(value: unknown, depth: number): string {
  const written = (one: unknown, left: number): string => {
    if (typeof one !== "object" || one === null || left === 0) return JSON.stringify(one);
    const members = Array.isArray(one)
      ? one.map((member) => written(member, left - 1))
      : Object.entries(one).map(([name, member]) => `${JSON.stringify(name)}: ${written(member, left - 1)}`);
    if (members.length === 0) return Array.isArray(one) ? "[]" : "{}";
    const [start, end] = Array.isArray(one) ? ["[", "]"] : ["{", "}"];
    return `${start}\n${members.join(",\n")}\n${end}`;
  };
  return `${written(value, depth)}\n`;
}
