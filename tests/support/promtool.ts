const promtool = Bun.which("promtool");

/** True when `promtool` of Debian's `prometheus` is installed, which checks metrics and rules. Warns if it is not. */
export const hasPromtool = promtool !== null;

if (!hasPromtool) console.warn("\n*** No promtool here: tests of metrics and alert rules are SKIPPED. ***\n");

/** Runs `promtool`. Returns its output if it reports an error, else "". */
export async function complaintsOf(args: readonly string[], input = ""): Promise<string> {
  const child = Bun.spawn([promtool ?? "", ...args], {
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return code === 0 ? "" : `${out}${err}` || `exit code ${code}`;
}
