/*
 * The yardstick of delivering: loops of `fetch` that POST the same bytes and headers to the receiver, and nothing else.
 * bun bare-sender.ts <URL> <loops> <seconds> <file of JSON: { headers, body }>
 * It prints one line of JSON: { "sent": count, "seconds": measured, "cpuSeconds": used }.
 */
const [url = "", loops, seconds, file = ""] = process.argv.slice(2);
const { headers, body } = (await Bun.file(file).json()) as { headers: Record<string, string>; body: string };

const warmUpMs = 2_000;
const startedAt = performance.now() + warmUpMs;
const endsAt = startedAt + Number(seconds) * 1000;
let sent = 0;
let cpuAtStart = 0;

async function loop(path: string): Promise<void> {
  for (;;) {
    const now = performance.now();
    if (now >= endsAt) return;
    if (now >= startedAt && cpuAtStart === 0) cpuAtStart = cpuSeconds();
    const answer = await fetch(path, { method: "POST", headers, body });
    await answer.arrayBuffer();
    if (answer.status !== 204) throw new Error(`The receiver answers ${answer.status}`);
    if (now >= startedAt) sent++;
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

await Promise.all(Array.from({ length: Number(loops) }, (_, i) => loop(`${url}/hook/${i}`)));
const measured = (performance.now() - startedAt) / 1000;
const result = { sent, seconds: measured, cpuSeconds: cpuSeconds() - cpuAtStart };
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit();

export {};
