import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { copyOfData, filledPlatform, profileOf, publicUrl } from "../support/filled.ts";
import {
  type Framework,
  frameworkCommand,
  frameworkDatabase,
  frameworkPackages,
  frameworks,
} from "../support/frameworks.ts";
import { newToken, serveCommand, serveEnvironment, startOnAir } from "../support/onair.ts";
import { sampleUsers, usersPath } from "../support/platform.ts";
import { BenchError } from "../support/processes.ts";
import type { Question } from "./first-answer.ts";

/** A server that can be started, and what it reads to start. */
export interface Contender {
  readonly name: string;
  readonly command: (port: number) => string[];
  readonly env: Readonly<Record<string, string>>;
  /** Files and directories. */
  readonly files: readonly string[];
}

interface Options {
  readonly users: number;
  readonly executable: string;
  readonly directory: string;
  /** Whether the other stacks are installed. */
  readonly withFrameworks: boolean;
  readonly say: (line: string) => void;
}

/** Servers of the same platform, and what they are all asked. Whatever they run is copied, so that nobody else runs it. */
export async function makeContenders(
  options: Options,
): Promise<{ question: Question; contenders: Contender[] }> {
  const { users, directory, withFrameworks, say } = options;
  const executable = join(directory, "onair");
  copyFileSync(options.executable, executable);
  const filled = await filledPlatform(users, say);
  const data = join(directory, "data");
  await copyOfData(filled, data);
  const onAir = await startOnAir(executable, data, directory, { args: ["--public-url", publicUrl] });
  const token = await newToken(onAir);
  const { username, body } = profileOf(userInTheMiddle(users));
  const question = {
    path: usersPath + username,
    headers: { authorization: `Bearer ${token}` },
    body,
  };
  const answer = await fetch(onAir.url + question.path, { headers: question.headers });
  const given = Object.fromEntries([...answer.headers].filter(([name]) => !madeByBun.includes(name)));
  const contenders: Contender[] = [
    {
      name: "On Air",
      command: (port) => [...serveCommand(executable, port), "--data", data, "--public-url", publicUrl],
      env: serveEnvironment(directory),
      files: [executable, data],
    },
    await bareContender(directory, JSON.stringify(given), body),
  ];
  if (withFrameworks) {
    const file = join(directory, "yardsticks.db");
    await frameworkDatabase(filled, onAir, { file, token, say });
    contenders.push(...frameworks.map((framework) => frameworkContender(framework, file, directory)));
  }
  await onAir.stop();
  return { question, contenders };
}

const madeByBun = ["date", "content-length"];

function userInTheMiddle(users: number): object {
  let rank = 0;
  for (const user of sampleUsers(users)) if (rank++ === users >> 1) return user;
  throw new BenchError("There are no users");
}

async function bareContender(directory: string, headers: string, body: string): Promise<Contender> {
  const outfile = join(directory, "bare");
  // As scripts/build.ts makes On Air.
  await Bun.build({
    entrypoints: [join(import.meta.dir, "bare.ts")],
    target: "bun",
    format: "esm",
    bytecode: true,
    minify: { whitespace: true, syntax: true, identifiers: false },
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
  });
  return {
    name: "bare",
    command: (port) => [outfile, String(port), headers, body],
    env: {},
    files: [outfile],
  };
}

/** A copy of the runtime of a framework, beside its database. */
function frameworkContender(framework: Framework, database: string, directory: string): Contender {
  const [runtime = "", ...rest] = frameworkCommand(framework, database, 0);
  const own = join(directory, framework, "runtime");
  mkdirSync(dirname(own));
  copyFileSync(runtime, own);
  return {
    name: framework,
    command: (port) => [own, ...frameworkCommand(framework, database, port).slice(1)],
    env: { NODE_ENV: "production" },
    files: [own, database, frameworkPackages, ...rest.slice(0, 1)],
  };
}
