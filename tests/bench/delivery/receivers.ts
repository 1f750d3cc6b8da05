import { join } from "node:path";
import { applicationPages, type OnAir } from "../support/onair.ts";
import { BenchError, cpuSeconds, peakResidentBytes } from "../support/processes.ts";
import { atOnce, type Behaviour, behaviours, type Certificate, steady } from "../support/receiver.ts";
import { atLeast, type Goal, inRounds, medians, megabytes, table, whole } from "../support/report.ts";
import { broadcasters, type DeliveryBench, type Part, type Scene, withScene } from "./scene.ts";
import { whilePending } from "./throughput.ts";

/** The default of `--webhook-concurrency`. */
const concurrency = 128;
const manyEndpoints = 300;
/** Deliveries that are acknowledged and have not arrived stay about this many: enough for all concurrency. */
const pendingForOne = 2_000;
const pendingForMany = 12_000;
/** Until then concurrency is being found out, and the server still compiles its program. */
const settlesAfterSeconds = 4;
const drainSeconds = 20;
const goal = { ofPossible: 0.7, ofAtOnce: 0.8 };

/** Who the deliveries go to. */
interface Audience {
  readonly endpoints: number;
  readonly broadcaster: number;
  readonly pending: number;
  readonly behaviours: readonly Behaviour[];
}

const one: Audience = {
  endpoints: 1,
  broadcaster: broadcasters.ownOf(0),
  pending: pendingForOne,
  behaviours,
};
const many: Audience = {
  endpoints: manyEndpoints,
  broadcaster: broadcasters.everyones,
  pending: pendingForMany,
  // Thousands of handshakes a second measure the receiver and the relay.
  behaviours: behaviours.filter(({ tlsHandshakeMs }) => tlsHandshakeMs === undefined),
};

interface Measured {
  readonly behaviour: string;
  readonly endpoints: number;
  readonly meanMs: number;
  /** Deliveries a second, one for each round. */
  readonly rounds: readonly number[];
  readonly perSecond: number;
  /** Of concurrency ÷ mean latency of all endpoints; null where the answer comes at once. */
  readonly ofPossible: number | null;
  /** Of what as many receivers took in this run that answered at once. */
  readonly ofAtOnce: number;
  /** Processor time of On Air for each delivery. */
  readonly microseconds: number;
  /** That had not arrived some seconds after the last round. */
  readonly left: number;
  readonly peakBytes: number;
}

/**
 * One endpoint and 300 of them, with answers that take time, jitter or follow a slow handshake, beside answers at once.
 */
export const receivers: Part = async (bench) => {
  const tls = await newCertificate(bench);
  const measured: Measured[] = [];
  for (const audience of [one, many]) {
    let atOncePerSecond = Number.NaN;
    for (const behaviour of audience.behaviours) {
      bench.say(`${audience.endpoints} × ${behaviour.name}`);
      const options = { name: `receivers-${measured.length}`, applications: manyEndpoints, tls };
      const figures = await withScene(bench, options, (scene) => measure(bench, scene, audience, behaviour));
      if (behaviour === atOnce) atOncePerSecond = figures.perSecond;
      measured.push({ ...figures, ofAtOnce: figures.perSecond / atOncePerSecond });
    }
  }
  const columns = ["mean", "deliveries/s", "of possible", "of at once", "CPU each", "left", "peak RSS"];
  return {
    shown: table([["Receivers", ...columns], ...measured.map(row)]),
    figures: { measured },
    goals: goalsOf(measured),
  };
};

async function measure(
  bench: DeliveryBench,
  scene: Scene,
  { endpoints, broadcaster, pending }: Audience,
  behaviour: Behaviour,
): Promise<Omit<Measured, "ofAtOnce">> {
  const { onAir, receiver } = scene;
  const tlsPort = await receiver.behave(behaviour);
  if (behaviour.tlsHandshakeMs !== undefined) await moveAll(onAir, `https://127.0.0.1:${tlsPort}`);
  const load = { broadcaster, each: endpoints, pending };
  const { result, published } = await whilePending(scene, load, async (pass) => {
    await pass(settlesAfterSeconds);
    return inRounds(bench.rounds, async () => {
      const cpu = cpuSeconds(onAir.pid);
      const before = { at: performance.now(), arrived: await receiver.arrived() };
      await pass(bench.seconds);
      const arrived = (await receiver.arrived()) - before.arrived;
      return {
        perSecond: (arrived * 1000) / (performance.now() - before.at),
        microseconds: ((cpuSeconds(onAir.pid) - cpu) / arrived) * 1e6,
      };
    });
  });
  await receiver.waitFor(published, drainSeconds);
  const { arrived, distinct, meanAnswerMs } = await receiver.report();
  if (distinct < arrived) throw new BenchError(`${arrived - distinct} deliveries arrived twice`);
  const { perSecond, microseconds } = medians(result);
  const meanMs = meanAnswerMs + (behaviour.tlsHandshakeMs ?? 0);
  return {
    behaviour: behaviour.name,
    endpoints,
    meanMs,
    rounds: result.map((round) => round.perSecond),
    perSecond,
    ofPossible: meanMs === 0 ? null : perSecond / ((endpoints * concurrency * 1000) / meanMs),
    microseconds,
    left: published - arrived,
    peakBytes: peakResidentBytes(onAir.pid),
  };
}

/** Moves the webhooks of all applications to another origin. */
async function moveAll(onAir: OnAir, origin: string): Promise<void> {
  for await (const ids of applicationPages(onAir)) {
    for (const id of ids) {
      const path = `/admin/v1/applications/${id}`;
      const answer = await onAir.admin("PATCH", path, { webhook_url: `${origin}/hook` });
      if (!answer.ok) throw new BenchError(`On Air does not move a webhook: ${await answer.text()}`);
    }
  }
}

/** A certificate for 127.0.0.1, which On Air is told to trust. */
async function newCertificate({ directory }: DeliveryBench): Promise<Certificate> {
  const files = {
    certificate: join(directory, "receiver.cert.pem"),
    key: join(directory, "receiver.key.pem"),
  };
  const options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=receiver";
  const name = "subjectAltName=IP:127.0.0.1";
  const out = ["-keyout", files.key, "-out", files.certificate];
  const command = ["openssl", "req", ...options.split(" "), "-addext", name, ...out];
  const { success, stderr } = Bun.spawnSync(command, { stderr: "pipe" });
  if (!success) throw new BenchError(`openssl failed: ${stderr}`);
  return files;
}

function row({ behaviour, endpoints, meanMs, rounds, ...figures }: Measured): string[] {
  const { perSecond, ofPossible, ofAtOnce, microseconds, left, peakBytes } = figures;
  return [
    `${endpoints} × ${behaviour}`,
    meanMs === 0 ? "" : `${meanMs.toFixed(0)} ms`,
    `${whole(perSecond)} (${whole(Math.min(...rounds))} to ${whole(Math.max(...rounds))})`,
    ofPossible === null ? "" : ofPossible.toFixed(2),
    ofAtOnce.toFixed(2),
    `${microseconds.toFixed(0)} µs`,
    whole(left),
    megabytes(peakBytes),
  ];
}

function goalsOf(measured: readonly Measured[]): Goal[] {
  // A handshake for each delivery is work for the receiver and the relay, which share a core.
  const closing = behaviours
    .filter(({ tlsHandshakeMs }) => tlsHandshakeMs !== undefined)
    .map(({ name }) => name);
  const single = measured.filter(({ endpoints, ofPossible, behaviour }) => {
    return endpoints === 1 && ofPossible !== null && !closing.includes(behaviour);
  });
  const ofMany = ({ name }: Behaviour) =>
    measured.find(({ endpoints, behaviour }) => endpoints === manyEndpoints && behaviour === name);
  const [quick, slow] = [ofMany(atOnce), ofMany(steady)];
  // Nearly the same when On Air has its core to itself, and the better judge when others are at work, too.
  const byCpu = (quick?.microseconds ?? Number.NaN) / (slow?.microseconds ?? Number.NaN);
  return [
    // What one core cannot deliver at once it cannot deliver later.
    ...single.map(({ behaviour, ofPossible, ofAtOnce }) =>
      atLeast(
        `one endpoint, ${behaviour}: of concurrency ÷ mean latency, or of at once`,
        Math.max(ofPossible ?? 0, ofAtOnce),
        goal.ofPossible,
      ),
    ),
    atLeast(
      `${manyEndpoints} endpoints at ${steady.name}: of those at once (by CPU time ${byCpu.toFixed(2)})`,
      slow?.ofAtOnce ?? 0,
      goal.ofAtOnce,
    ),
  ];
}
