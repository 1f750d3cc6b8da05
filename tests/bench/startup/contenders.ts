import { join } from "node:path";
import type { Bench } from "../support/bench.ts";
import { copyOfData, filledPlatform, profileOf, publicUrl } from "../support/filled.ts";
import { availableFrameworks, frameworkCommand, frameworkDatabase } from "../support/frameworks.ts";
import { newToken, serveCommand, serveEnvironment, startOnAir } from "../support/onair.ts";
import { sampleUsers, usersPath } from "../support/platform.ts";
import { BenchError } from "../support/processes.ts";
import type { Question } from "./first-answer.ts";

/** A server that can be started. */
export interface Contender {
  readonly name: string;
  readonly command: (port: number) => string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Servers of the same platform, and what they are all asked. */
export async function makeContenders(
  bench: Bench,
  users: number,
): Promise<{ question: Question; contenders: Contender[] }> {
  const { directory, executable, say } = bench;
  const available = await availableFrameworks(say);
  const filled = await filledPlatform(users, say);
  const data = join(directory, "data");
  await copyOfData(filled, data);
  const args = ["--public-url", publicUrl];
  const onAir = await startOnAir(bench, { args });
  const token = await newToken(onAir);
  const { username, body } = profileOf(userInTheMiddle(users));
  const question = {
    path: usersPath + username,
    headers: { authorization: `Bearer ${token}` },
    body,
  };
  const answer = await fetch(onAir.url + question.path, { headers: question.headers });
  const given = Object.fromEntries([...answer.headers].filter(([name]) => !madeByBun.includes(name)));
  const file = join(directory, "yardsticks.db");
  if (available.length > 0) await frameworkDatabase(filled, onAir, { file, token, say });
  await onAir.stop();
  return {
    question,
    contenders: [
      {
        name: "On Air",
        command: (port) => [...serveCommand(executable, port), "--data", data, ...args],
        env: serveEnvironment(directory),
      },
      await bareContender(directory, JSON.stringify(given), body),
      ...available.map((framework) => ({
        name: framework,
        command: (port: number) => frameworkCommand(framework, file, port),
        env: { NODE_ENV: "production" },
      })),
    ],
  };
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
  };
}
