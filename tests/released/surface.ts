import { join } from "node:path";
import { documentSchema } from "../../src/api/openapi/document.ts";
import { commands } from "../../src/cli/program.ts";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { schemaSteps } from "../../src/postgres/migrations.ts";
import { createLog, errorEvents } from "../../src/runtime/log.ts";
import { settings } from "../../src/server/settings/config.ts";
import { flagOf, mayBeInFile, names, variableOf } from "../../src/server/settings/shown-settings.ts";
import { hashOf } from "../../src/store/applied-migrations.ts";
import { migrations } from "../../src/store/sqlite/migrations.ts";
import { logEvents } from "../support/log.ts";
import { compareDocuments, compareSchemas, type Json } from "./documents.ts";
import type { Break } from "./promises.ts";

/*
 * What others build on, as plain data: read of this checkout, kept for each release in a folder beside this file, and
 * compared. `scripts/release/record.ts` writes the folder of a release.
 */

/** An option of a command: its type, and its values if they are listed. */
interface SurfaceOption {
  readonly type: string;
  readonly repeatable: boolean;
  readonly values: readonly string[] | null;
}

interface SurfaceCommand {
  readonly options: Readonly<Record<string, SurfaceOption>>;
  /** The options of each action, beside those that all actions take. */
  readonly actions: Readonly<Record<string, readonly string[]>>;
  readonly exit_codes: readonly number[];
}

interface SurfaceSetting {
  readonly option: string | null;
  readonly variable: string;
  readonly alias: string | null;
  /** The placeholder of its value; null for a switch. */
  readonly value: string | null;
  readonly default: string | null;
  readonly in_file: boolean;
}

export interface SurfaceMetric {
  readonly type: string;
  readonly labels: readonly string[];
}

interface SurfaceMigration {
  readonly name: string;
  readonly sha256: string;
}

/** Everything that is compared without a running server. */
export interface Surface {
  /** The OpenAPI documents. */
  readonly public: Json;
  readonly admin: Json;
  readonly commands: Readonly<Record<string, SurfaceCommand>>;
  /** The output of `--help` by command. */
  readonly help: Readonly<Record<string, string>>;
  /** The exported names by language; methods in Go like `Client.Pages`. */
  readonly clients: Readonly<Record<"typescript" | "python" | "go", readonly string[]>>;
  readonly settings: Readonly<Record<string, SurfaceSetting>>;
  /** The schemas of `data` by name and version, like `channel.followed 1`. */
  readonly events: Readonly<Record<string, Json>>;
  readonly log: { readonly events: readonly string[]; readonly request: readonly string[] };
  readonly migrations: Readonly<Record<"sqlite" | "postgres", readonly SurfaceMigration[]>>;
}

/** The parts of a surface, which are the names of the files of a release. */
export const parts = [
  "public",
  "admin",
  "commands",
  "help",
  "clients",
  "settings",
  "events",
  "log",
  "migrations",
] as const satisfies readonly (keyof Surface)[];

/** Reads the surface of this checkout. */
export async function surfaceNow(): Promise<Surface> {
  return {
    public: await documentOf("--public-url", "https://api.example.com"),
    admin: await documentOf("--admin"),
    commands: await commandsNow(),
    help: await helpNow(),
    clients: await clientsNow(),
    settings: settingsNow(),
    events: Object.fromEntries(
      builtInEventTypes.map(({ name, version, payload }) => [`${name} ${version}`, documentSchema(payload)]),
    ),
    log: {
      events: [...new Set([...logEvents(), ...errorEvents.map((name) => `${name} error`)])].sort(),
      request: await requestFields(),
    },
    migrations: {
      sqlite: migrations.map((one) => ({ name: one.name, sha256: hashOf(one) })),
      postgres: schemaSteps.map((one) => ({ name: one.name, sha256: hashOf(one) })),
    },
  };
}

/** Returns a document without its version, which is another one for each build. */
async function documentOf(...options: readonly string[]): Promise<Json> {
  const command = [process.execPath, "--no-env-file", join(import.meta.dir, "../../src/main.ts"), "openapi"];
  const child = Bun.spawn([...command, ...options], { env: { PATH: process.env["PATH"] }, stdout: "pipe" });
  const document = await child.stdout.json();
  delete document.info.version;
  return document;
}

/** Returns the help of each command by its name. */
async function helpNow(): Promise<Readonly<Record<string, string>>> {
  const helps = Object.entries(commands).map(async ([name, load]) => [name, (await load()).help] as const);
  return Object.fromEntries(await Promise.all(helps));
}

/** Reads the exports in the sources of the clients. */
async function clientsNow(): Promise<Surface["clients"]> {
  const root = join(import.meta.dir, "../..");
  const read = (path: string) => Bun.file(join(root, path)).text();
  const lists = (await read("src/client/onair.ts")).matchAll(/export (?:type )?\{([^}]*)\}/g);
  const names = [...lists].flatMap(([, list = ""]) => list.split(","));
  const python =
    /__all__ = \[([^\]]*)\]/.exec(await read("clients/python/src/onair_client/__init__.py"))?.[1] ?? "";
  const files = [...new Bun.Glob("clients/go/*.go").scanSync(root)].filter(
    (file) => !file.endsWith("_test.go"),
  );
  const go = (await Promise.all(files.map(read))).join("\n");
  const methods = go.matchAll(/^func \(\w* ?\*?([A-Z]\w*)(?:\[[^\]]*\])?\) ([A-Z]\w*)/gm);
  const blocks = [...go.matchAll(/^(?:var|const) \(\n([\s\S]*?)^\)/gm)].map(([, block]) => block).join("");
  const top = [
    ...go.matchAll(/^(?:func|type|var|const) ([A-Z]\w*)/gm),
    ...blocks.matchAll(/^\t([A-Z]\w*)/gm),
  ];
  const sorted = (list: readonly string[]) => [...new Set(list.filter((name) => name !== ""))].sort();
  return {
    typescript: sorted(names.map((name) => name.trim().replace(/^type /, ""))),
    python: sorted(python.split(",").map((name) => name.replaceAll(/[\s"]/g, ""))),
    go: sorted([
      ...top.map(([, name = ""]) => name),
      ...[...methods].map(([, type, name]) => `${type}.${name}`),
    ]),
  };
}

async function commandsNow(): Promise<Surface["commands"]> {
  const found: Record<string, SurfaceCommand> = {};
  for (const [name, load] of Object.entries(commands)) {
    const { options, actions = {}, values = {}, help } = await load();
    const listed = (option: string) => {
      const list = values[option];
      return Array.isArray(list) ? (list as readonly string[]) : null;
    };
    found[name] = {
      options: Object.fromEntries(
        Object.entries(options).map(([option, { type, multiple = false }]) => [
          option,
          { type, repeatable: multiple, values: listed(option) },
        ]),
      ),
      actions: Object.fromEntries(
        Object.entries(actions).map(([action, words]) => [action, [...(words.options ?? [])].sort()]),
      ),
      exit_codes: exitCodesIn(help),
    };
  }
  return found;
}

/** Returns the codes in the paragraph of a help text about them. */
function exitCodesIn(help: string): number[] {
  const paragraph = /^Exit code: ([\s\S]*?)(?:\n\n|$)/m.exec(help)?.[1] ?? "";
  return [...new Set((paragraph.match(/\b\d{1,3}\b/g) ?? []).map(Number))].sort((a, b) => a - b);
}

function settingsNow(): Surface["settings"] {
  return Object.fromEntries(
    names.map((name) => {
      const { secret = false, value = null, default: initial, alias = null } = settings[name];
      const option = secret ? null : flagOf(name);
      const setting = { option, variable: variableOf(name), alias, value, default: initial };
      return [flagOf(name), { ...setting, in_file: mayBeInFile(settings[name]) }];
    }),
  );
}

/** The fields of the log line of a request that has all of them. */
async function requestFields(): Promise<string[]> {
  let text = "";
  const log = createLog("info", () => 0, {
    write: (lines) => {
      text += Buffer.from(lines).toString();
    },
    flush: async () => {},
    linesLeftOut: 0,
  });
  const ids = { requestId: "a", client: "a", applicationId: "a", traceId: "a" };
  log.request({ ...ids, method: "GET", path: "/", status: 200, durationMs: 1 });
  await log.flush();
  return Object.keys(JSON.parse(text));
}

/** Returns the metrics in the text of `/metrics`, by name. */
export function metricsIn(text: string): Record<string, SurfaceMetric> {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]),
  );
  const labels = new Map<string, Set<string>>();
  for (const [, series = "", given = ""] of text.matchAll(/^(onair_\w+)(?:\{(.*?)\})? [^#\n]*/gm)) {
    const name = types.has(series) ? series : series.replace(/_(bucket|sum|count|total)$/, "");
    const known = labels.get(name) ?? new Set();
    for (const [, label = ""] of given.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g))
      if (label !== "le") known.add(label);
    labels.set(name, known);
  }
  const sorted = [...types].sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(
    sorted.map(([name, type]) => [name, { type, labels: [...(labels.get(name) ?? [])].sort() }]),
  );
}

/** Returns the differences that break a promise. */
export function compareSurfaces(earlier: Surface, later: Surface): Break[] {
  const compared = <Part extends keyof Surface>(
    part: Part,
    compare: (one: Surface[Part], other: Surface[Part]) => Break[],
  ) => (Bun.deepEquals(earlier[part], later[part]) ? [] : compare(earlier[part], later[part]));
  return [
    ...compared("public", compareDocuments),
    ...compared("admin", compareDocuments),
    ...compared("commands", compareCommands),
    ...compared("help", compareHelp),
    ...compared("clients", compareClients),
    ...compared("settings", compareSettings),
    ...compared("events", compareEvents),
    ...compared("log", compareLogs),
    ...compared("migrations", compareMigrations),
  ];
}

function compareCommands(earlier: Surface["commands"], later: Surface["commands"]): Break[] {
  const breaks: Break[] = [];
  const say = (what: string) => breaks.push({ promise: "commands", what });
  for (const [name, before] of Object.entries(earlier)) {
    const after = later[name];
    if (!after) {
      say(`onair ${name} is removed`);
      continue;
    }
    for (const [option, one] of Object.entries(before.options)) {
      const other = after.options[option];
      const shown = `onair ${name} --${option}`;
      if (!other) say(`${shown} is removed`);
      else if (other.type !== one.type)
        say(`${shown} ${other.type === "boolean" ? "takes no" : "needs a"} value`);
      else if (one.repeatable && !other.repeatable) say(`${shown} may be given once only`);
      else if (other.values)
        for (const value of one.values?.filter((value) => !other.values?.includes(value)) ?? ["any value"])
          say(`${shown} no longer takes ${value}`);
    }
    for (const [action, options] of Object.entries(before.actions)) {
      const taken = after.actions[action];
      if (!taken) say(`onair ${name} ${action} is removed`);
      else
        for (const option of options.filter((one) => isOfActions(after, one) && !taken.includes(one)))
          say(`onair ${name} ${action} no longer takes --${option}`);
    }
    if (JSON.stringify(before.exit_codes) !== JSON.stringify(after.exit_codes))
      breaks.push({
        promise: "exitCodes",
        what: `onair ${name}: ${before.exit_codes.join(", ")} → ${after.exit_codes.join(", ")}`,
      });
  }
  return breaks;
}

function compareClients(earlier: Surface["clients"], later: Surface["clients"]): Break[] {
  return (["typescript", "python", "go"] as const).flatMap((language) =>
    earlier[language]
      .filter((name) => !later[language].includes(name))
      .map((name): Break => ({ promise: "clients", what: `the client for ${language} lacks ${name}` })),
  );
}

/** An option or variable that the help of a command names stays there, and is one that people can find. */
function compareHelp(earlier: Surface["help"], later: Surface["help"]): Break[] {
  const optionsIn = (help = "") => new Set(help.match(/(?<![\w-])(?:--[a-z][a-z-]+|ONAIR_[A-Z_]+[A-Z])/g));
  return Object.entries(earlier).flatMap(([name, help]) => {
    const shown = optionsIn(later[name]);
    if (later[name] === undefined) return [];
    return [...optionsIn(help)]
      .filter((option) => !shown.has(option))
      .map((option): Break => ({ promise: "commands", what: `the help of onair ${name} lacks ${option}` }));
  });
}

/** Whether an option is only for the actions that list it. */
const isOfActions = ({ actions }: SurfaceCommand, option: string) =>
  Object.values(actions).some((options) => options.includes(option));

function compareSettings(earlier: Surface["settings"], later: Surface["settings"]): Break[] {
  const breaks: Break[] = [];
  for (const [name, before] of Object.entries(earlier)) {
    const after = later[name];
    const say = (what: string) => breaks.push({ promise: "settings", what: `the setting ${name} ${what}` });
    if (!after) {
      say("is removed");
      continue;
    }
    for (const key of ["option", "variable", "alias", "default"] as const)
      if (before[key] !== after[key] && !(key === "alias" && before.alias === null))
        say(`has another ${key}: ${before[key]} → ${after[key]}`);
    if ((before.value === null) !== (after.value === null))
      say(`${after.value ? "needs a" : "takes no"} value`);
    if (before.in_file && !after.in_file) say("is not read from a file of its own");
  }
  return breaks;
}

/** The platform publishes what subscribers get, so a schema may neither get narrower nor wider, but for new fields. */
function compareEvents(earlier: Surface["events"], later: Surface["events"]): Break[] {
  return Object.entries(earlier).flatMap(([name, before]): Break[] => {
    const after = later[name];
    if (!after) return [{ promise: "events", what: `${name} is removed` }];
    return [
      ...compareSchemas(before, after, "gives", name),
      ...compareSchemas(before, after, "takes", `${name}, published`),
    ];
  });
}

function compareLogs(earlier: Surface["log"], later: Surface["log"]): Break[] {
  const gone = earlier.events.filter((event) => !later.events.includes(event));
  const fields = earlier.request.filter((field) => !later.request.includes(field));
  return [
    ...gone.map((event): Break => ({ promise: "logEvents", what: `there is no ${event}` })),
    ...fields.map(
      (field): Break => ({ promise: "requestLine", what: `the line of a request lacks ${field}` }),
    ),
  ];
}

function compareMigrations(earlier: Surface["migrations"], later: Surface["migrations"]): Break[] {
  return (["sqlite", "postgres"] as const).flatMap((database) =>
    earlier[database].flatMap((before, i): Break[] => {
      const after = later[database][i];
      if (after?.name === before.name && after.sha256 === before.sha256) return [];
      const what = after?.name === before.name ? "has changed" : `has become ${after?.name ?? "nothing"}`;
      return [{ promise: "migrations", what: `the migration ${before.name} of ${database} ${what}` }];
    }),
  );
}

/** Returns the metrics that lack something they had. */
export function compareMetrics(
  earlier: Readonly<Record<string, SurfaceMetric>>,
  later: Readonly<Record<string, SurfaceMetric>>,
): Break[] {
  const breaks: Break[] = [];
  const say = (what: string) => breaks.push({ promise: "metrics", what });
  for (const [name, before] of Object.entries(earlier)) {
    const after = later[name];
    if (!after) say(`${name} is removed`);
    else if (after.type !== before.type) say(`${name} is a ${after.type}, no ${before.type}`);
    else if (after.labels.join() !== before.labels.join())
      say(
        `${name} has the labels ${after.labels.join(", ") || "none"}, not ${before.labels.join(", ") || "none"}`,
      );
  }
  return breaks;
}
