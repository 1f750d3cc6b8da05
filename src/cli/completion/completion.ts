import type { Environment } from "../../config/read-config.ts";
import { noMore, readArguments, readWord } from "../arguments.ts";
import { type Command, UsageError } from "../command.ts";
import { print, write } from "../output/print.ts";
import { candidatesFor } from "./candidates.ts";
import bash from "./onair.bash" with { type: "text" };
import fish from "./onair.fish" with { type: "text" };
import zsh from "./onair.zsh" with { type: "text" };

const help = `Usage: onair completion bash | zsh | fish

Prints a script that completes commands, actions, options and their values with the tab key:

  bash   onair completion bash > ~/.local/share/bash-completion/completions/onair
  zsh    onair completion zsh > "\${fpath[1]}/_onair"
  fish   onair completion fish > ~/.config/fish/completions/onair.fish

To try it: source <(onair completion bash). The script asks the executable, so that it need not be
made anew for another version.

Exit code: 0 when it is printed, 2 for wrong usage.
`;

const scripts = { bash, zsh, fish } as const;
const shells = Object.keys(scripts) as (keyof typeof scripts)[];
/** How the scripts ask. */
const question = "words";

export const completion: Command = {
  summary: "print a script for bash, zsh or fish that completes commands and options",
  help,
  options: {},
  words: { first: shells },
  async run(args: readonly string[], env: Environment) {
    if (args[0] === question && args[1] === "--") {
      for (const { word, meaning } of await candidatesFor(args.slice(2), env)) {
        await print(meaning === "" ? word : `${word}\t${meaning}`);
      }
      return 0;
    }
    const { positionals } = readArguments(args, {});
    const [name, ...more] = positionals;
    const mistakes: string[] = [];
    const shell = readWord("shell", name, shells, mistakes);
    noMore(more, mistakes);
    if (mistakes.length > 0 || shell === undefined) throw new UsageError(mistakes.join("\n"));
    await write(scripts[shell]);
    return 0;
  },
};
