import { version } from "../runtime/version.ts";
import { command, switches } from "./arguments.ts";

const help = `Usage: onair version [--json]

Prints the version.

  --json         print it with the runtime and the platform as JSON

Exit code: 0, or 2 for wrong usage.
`;

export const versionCommand = command({
  summary: "print the version; --json adds the runtime and platform",
  help,
  options: switches("json"),
  async run({ out, check }) {
    check();
    const { platform, arch } = process;
    await out.answer({ version, bun: Bun.version, platform, arch }, `onair ${version}`);
  },
});
