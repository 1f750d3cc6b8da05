const promtool = Bun.which("promtool");

/** Whether Debian's `prometheus` is installed, whose `promtool` judges metrics and rules; said loudly where it is not. */
export const hasPromtool = promtool !== null;

if (!hasPromtool) console.warn("\n*** No promtool here: tests of metrics and alert rules are SKIPPED. ***\n");

/** Runs it; gives what it said where it found something wrong, else "". */
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
