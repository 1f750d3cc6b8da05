import { commit, version, versionWithCommit } from "../runtime/version.ts";
import { command, switches } from "./arguments.ts";

const help = `Usage: onair version [--json]

Prints the version and the commit that it was built from. "-changed" after the commit means that the
checkout had uncommitted changes. A build from a source archive has no commit. A build after a
release has its version and the number of commits since: 1.0.0+12.g44cb90d.

  --json         print both, with the runtime and the platform, as JSON

Exit code: 0 on success, 2 for wrong usage.
`;

export const versionCommand = command({
  summary: "print the version and its commit; --json adds the runtime and platform",
  help,
  options: switches("json"),
  async run({ out, check }) {
    check();
    const { platform, arch } = process;
    await out.answer({ version, commit, bun: Bun.version, platform, arch }, `onair ${versionWithCommit}`);
  },
});
