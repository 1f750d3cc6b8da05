import type { Environment } from "../../config/read-config.ts";
import { command } from "../arguments.ts";
import type { Command } from "../command.ts";
import { print, write } from "../output/print.ts";
import { candidatesFor } from "./candidates.ts";
import bash from "./onair.bash" with { type: "text" };
import fish from "./onair.fish" with { type: "text" };
import zsh from "./onair.zsh" with { type: "text" };

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

export const completion: Command = {
  ...printing,
  async run(args: readonly string[], env: Environment) {
    if (args[0] !== question || args[1] !== "--") return printing.run(args, env);
    for (const { word, meaning } of await candidatesFor(args.slice(2), env))
      await print(meaning === "" ? word : `${word}\t${meaning}`);
    return 0;
  },
};
