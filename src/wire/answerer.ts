import type { Connection } from "./connection.ts";
import type { WireFault } from "./fault.ts";
import type { Head } from "./head.ts";
import type { Reply } from "./reply.ts";

/** An answer that is still to come: calls `send` with it, once. What a promise would do costs more. */
export type Later = (send: (reply: Reply) => void) => void;

/** Who answers the requests of a listener. None of these throws; that would end the connection. */
export interface Answerer {
  answer(head: Head, body: Uint8Array<ArrayBuffer> | null, by: Connection): Reply | Later;
  /** What could not be read as a request; the connection ends with this. */
  refuse(fault: WireFault, by: Connection): Reply;
  /** A connection for which there is no place; it ends with this, whatever it was about to ask for. */
  turnAway(): Reply;
}
