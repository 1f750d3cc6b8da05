/** What one check found. */
export interface Finding {
  /** What was looked at, as a program names it. */
  readonly check: string;
  /** `warning` may be meant so; `skipped` says why nobody looked. */
  readonly status: "ok" | "warning" | "wrong" | "skipped";
  readonly message: string;
  /** How to mend it, where that can be said. */
  readonly mend: string | null;
}

/** Makes the findings of one check. */
export function findingsOf(check: string) {
  const finding =
    (status: Finding["status"]) =>
    (message: string, mend: string | null = null): Finding => ({ check, status, message, mend });
  return {
    ok: finding("ok"),
    warning: finding("warning"),
    wrong: finding("wrong"),
    skipped: finding("skipped"),
  };
}
