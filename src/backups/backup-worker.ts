/*
 * The thread of one backup: makes it when it is told which, and says what became of it.
 */
import { setPriority } from "node:os";
import { type PlainError, plainError } from "../threads/messages.ts";
import { makeBackup, type NewBackup } from "./make.ts";

declare const self: Worker;

/** What the thread says: how large the copy will be, then how it ended. */
export type FromBackup =
  | { readonly copying: number }
  | { readonly done: true }
  | { readonly failed: PlainError };

// Linux counts this for the calling thread alone: whatever else there is to do goes first.
if (process.platform === "linux") setPriority(0, 19);

const send = (message: FromBackup) => self.postMessage(message);

self.onmessage = ({ data }: MessageEvent<NewBackup>) => {
  try {
    makeBackup(data, (bytes) => send({ copying: bytes }));
    send({ done: true });
  } catch (error) {
    send({ failed: plainError(error) });
  }
};
