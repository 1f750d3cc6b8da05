/** How long a connection may take for what it does. */
export const timeouts = {
  /** Between two requests; longer than the 60 s after which proxies let go of theirs, so that none is cut off asking. */
  idleMs: 75_000,
  /** The same while nearly all places are taken. */
  crowdedIdleMs: 5_000,
  /** From the first byte of a head to its last. */
  headMs: 15_000,
  bodyMs: 30_000,
  /** With an answer of which the client takes nothing, or too little: see `slowestBytesPerMs`. */
  blockedMs: 60_000,
  /** For the client to close its side, after the last answer. */
  closingMs: 5_000,
  /** The same where there was none: many clients keep a connection that they do not use, and do not see its end. */
  unusedMs: 1_000,
};

/**
 * A client that has to be waited for gets a millisecond more for so many bytes that it takes, up to `blockedMs` ahead:
 * who takes 1 kB a second may go on, who takes less in the long run is cut off.
 */
export const slowestBytesPerMs = 1;
