/** The part of a socket that a connection needs. */
export interface Socket {
  write(bytes: Uint8Array, offset: number, length: number): number;
  readonly remoteAddress: string | undefined;
  pause(): void;
  resume(): void;
  /** Says that nothing more will be sent. */
  shutdown(): void;
  /** The same, and closes. */
  end(): void;
  /** Closes at once. */
  terminate(): void;
}
