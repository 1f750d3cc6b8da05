/** How a receiver behaves: when it answers, and over what kind of a connection. */
export interface Behaviour {
  readonly name: string;
  /** How long it takes to answer, drawn for each delivery. */
  readonly answerMs: () => number;
  /** Over TLS, by way of a relay that holds up what passes. */
  readonly tls?: {
    /** What each direction takes more, in the handshake and in the answer: distance. */
    readonly oneWayMs: number;
    /** What the receiver's part of the handshake takes more. */
    readonly handshakeMs: number;
    /** It closes each connection after one answer. */
    readonly closes: boolean;
  };
  /** What an attempt takes beside the answer when all goes well. */
  readonly extraMs: number;
}

const behaviour = (
  name: string,
  answerMs: () => number,
  tls: Behaviour["tls"] = undefined,
  extraMs = 0,
): Behaviour => ({ name, answerMs, ...(tls && { tls }), extraMs });

function normal(): number {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}

export const atOnce = behaviour("at once", () => 0);
export const steady = behaviour("100 ms", () => 100);
const uniform = behaviour("50 to 200 ms", () => 50 + 150 * Math.random());
const bimodal = behaviour("20 ms, every 20th 400", () => (Math.random() < 0.05 ? 400 : 20));
const logNormal = behaviour("log-normal, median 80", () => Math.min(10_000, 80 * Math.exp(normal())));
const pareto = behaviour("Pareto 1.5, from 50", () =>
  Math.min(10_000, 50 * (1 - Math.random()) ** (-1 / 1.5)),
);
const far = behaviour("TLS, 75 ms away", () => 5, { oneWayMs: 75, handshakeMs: 0, closes: false }, 150);
const slowTls = behaviour("slow TLS, closes", () => 50, { oneWayMs: 0, handshakeMs: 100, closes: true }, 100);

export const behaviours: readonly Behaviour[] = [
  atOnce,
  steady,
  uniform,
  bimodal,
  logNormal,
  pareto,
  far,
  slowTls,
];
