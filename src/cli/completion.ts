import type { Environment } from "../server/settings/read-config.ts";
import { command } from "./arguments.ts";
import { Profiles } from "./calls/profiles.ts";
import type { Candidates, Command, Commands, Words } from "./command.ts";
import bash from "./completion/onair.bash" with { type: "text" };
import fish from "./completion/onair.fish" with { type: "text" };
import zsh from "./completion/onair.zsh" with { type: "text" };
import { print, write } from "./output/print.ts";

/** A completion that the shell offers. */
interface Candidate {
  readonly word: string;
  /** A short description; "" for none. */
  readonly meaning: string;
}

/**
 * Returns the completions of the last of the words that follow `onair`; the last word may be a prefix or "". The result
 * is empty when a file or free text is expected.
 */
export async function candidatesFor(
  commands: Commands,
  words: readonly string[],
  env: Environment,
): Promise<Candidate[]> {
  const prefix = words.at(-1) ?? "";
  const found = await possibilities(commands, words.slice(0, -1), prefix, env);
  return found.filter(({ word }) => word.startsWith(prefix));
}

async function possibilities(
  commands: Commands,
  before: readonly string[],
  prefix: string,
  env: Environment,
): Promise<Candidate[]> {
  const [name, ...rest] = before;
  if (name === undefined) return namesOfCommands(commands, true);
  if (name === "help") return rest.length === 0 ? namesOfCommands(commands, false) : [];
  const command = Object.hasOwn(commands, name) ? await commands[name]?.() : undefined;
  if (!command || rest.includes("--")) return [];
  return ofCommand(command, rest, prefix, env);
}

async function namesOfCommands(commands: Commands, withHelp: boolean): Promise<Candidate[]> {
  const own = Object.entries(commands).map(async ([word, load]) => ({
    word,
    meaning: (await load()).summary,
  }));
  const found = await Promise.all(own);
  return withHelp ? [...found, { word: "help", meaning: "explain a command" }] : found;
}

function ofCommand(
  command: Command,
  before: readonly string[],
  prefix: string,
  env: Environment,
): Candidate[] {
  const { actions } = command;
  const values: Command["values"] = { profile: profileNames, ...command.values };
  const candidatesWith = (candidates: Candidates = [], lead = "") =>
    (typeof candidates === "function" ? candidates(env) : candidates).map((word) => ({
      word: lead + word,
      meaning: meaningOf(word, command),
    }));
  const [lead = ""] = /^--[^=]+=/.exec(prefix) ?? [];
  const option = optionNamed(lead === "" ? before.at(-1) : lead.slice(0, -1), command);
  if (option?.takesValue) return candidatesWith(values[option.name], lead);
  const [first] = positionalsOf(before, command);
  const options = () => candidatesWith(optionsOf(command, first));
  if (prefix.startsWith("-")) return options();
  const ofFirst = actions ? Object.keys(actions) : command.candidates;
  const candidates = first === undefined ? ofFirst : ofAction(actions, first)?.candidates;
  if (candidates !== undefined) return candidatesWith(candidates);
  const takesFile = /[<[]file[>\]]/.test(command.help);
  return takesFile ? [] : options();
}

const profileNames = (env: Environment) => new Profiles(env).names();

/** Returns the options of an action; without an action, those of all actions. */
function optionsOf({ options, actions = {} }: Command, action = ""): string[] {
  const ofSome = new Set(Object.values(actions).flatMap((one) => one.options ?? []));
  const own = ofAction(actions, action)?.options ?? (Object.hasOwn(actions, action) ? [] : [...ofSome]);
  const names = Object.keys(options).filter((name) => !ofSome.has(name) || own.includes(name));
  return [...names, "help"].map((name) => `--${name}`);
}

function optionNamed(word: string | undefined, { options }: Command) {
  const name = word?.startsWith("--") ? word.slice(2) : "";
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  return option && { name, takesValue: option.type === "string" };
}

/** Returns the words that are neither options nor values of options. */
function positionalsOf(words: readonly string[], command: Command): string[] {
  return words.filter((word, i) => {
    return !word.startsWith("-") && !optionNamed(words[i - 1], command)?.takesValue;
  });
}

/** Returns the description of a word from the help; "" when it has none. */
function meaningOf(word: string, { help }: Command): string {
  const line = help.split("\n").find((one) => new RegExp(`^ {2}${word}(?![\\w-])`).test(one)) ?? "";
  return /\S {2,}(\S.*)$/.exec(line)?.[1] ?? "";
}

function ofAction(actions: Command["actions"] = {}, action: string): Words | undefined {
  return Object.hasOwn(actions, action) ? actions[action] : undefined;
}

const help = `Usage: onair completion bash | zsh | fish

Prints a script for the shell that completes commands, actions, options and their values:

  bash   onair completion bash > ~/.local/share/bash-completion/completions/onair
  zsh    onair completion zsh > "\${fpath[1]}/_onair"
  fish   onair completion fish > ~/.config/fish/completions/onair.fish

To try it: source <(onair completion bash). The script calls onair for the candidates, so it works
with later versions as well.

Exit code: 0 on success, 2 for wrong usage.
`;

/** The word with which the scripts request candidates. */
const question = "words";

const printing = command({
  summary: "print a script for bash, zsh or fish that completes commands and options",
  help,
  options: {},
  called: "shell",
  actions: { bash: {}, zsh: {}, fish: {} },
  async run({ action, check }) {
    check();
    await write({ bash, zsh, fish }[action]);
  },
});

/** Makes the command that completes these commands. */
export function completionOf(commands: Commands): Command {
  return {
    ...printing,
    async run(args: readonly string[], env: Environment) {
      if (args[0] !== question || args[1] !== "--") return printing.run(args, env);
      for (const { word, meaning } of await candidatesFor(commands, args.slice(2), env))
        await print(meaning === "" ? word : `${word}\t${meaning}`);
      return 0;
    },
  };
}
