import { createInterface } from "node:readline/promises";
import { smallFile } from "../../runtime/small-file.ts";
import { stoppedByUser, UsageError } from "../command.ts";

const longestSecretBytes = 4096;

/** Reads a secret from a file or a pipe, or from standard input for "-". Throws a `UsageError`. */
export async function secretIn(file: string): Promise<string> {
  const secret = (file === "-" ? await Bun.stdin.text() : contentOf(file)).trim();
  if (/^[\x21-\x7e]+$/.test(secret)) return secret;
  throw new UsageError(
    `${file === "-" ? "Standard input" : file} must hold the client secret and nothing else`,
  );
}

function contentOf(file: string): string {
  try {
    return smallFile(file, longestSecretBytes);
  } catch (error) {
    throw new UsageError(`${file} ${(error as TypeError).message}`);
  }
}

/** Prompts for a line on the terminal. Ctrl-C and Ctrl-D end the process. Throws a `UsageError` for an empty line. */
export async function askFor(what: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Without a SIGINT listener, Ctrl-C closes the interface.
  terminal.once("close", stop);
  try {
    return given(what, await terminal.question(`${what}: `));
  } finally {
    terminal.off("close", stop);
    terminal.close();
  }
}

function given(what: string, typed: string): string {
  const text = typed.trim();
  if (text === "") throw new UsageError(`${what}: nothing was typed`);
  return text;
}

function stop(): never {
  process.stderr.write("\n");
  process.exit(stoppedByUser);
}

/** Prompts for a secret without showing it. Otherwise like `askFor`. */
export async function askForSecret(what: string): Promise<string> {
  const { stdin, stderr } = process;
  // Set before the prompt appears, so that text pasted at once is not shown.
  stdin.setRawMode(true);
  stderr.write(`${what} (not shown): `);
  stdin.resume();
  stdin.setEncoding("utf8");
  try {
    const typed = await new Promise<string>((resolve) => {
      let secret = "";
      stdin.on("data", (typed: string) => {
        for (const key of typed) {
          if (key === "\r" || key === "\n" || key === "\u0004") return resolve(secret);
          if (key === "\u0003") {
            stdin.setRawMode(false);
            stop();
          }
          secret = key === "\u007f" || key === "\b" ? secret.slice(0, -1) : secret + key;
        }
      });
    });
    return given(what, typed);
  } finally {
    stdin.removeAllListeners("data");
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}
