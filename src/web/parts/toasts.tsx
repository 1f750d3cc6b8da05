import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly undo: (() => unknown) | undefined;
}
const toasts = signal<readonly Toast[]>([]);
let lastToast = 0;
const toastMs = 7_000;
/** The time that a toast stays: long enough to reach the button by keyboard. */
const undoMs = 20_000;

/** Reports that something was done, and offers to undo it if possible. */
export function toast(text: string, undo?: () => unknown): void {
  const id = ++lastToast;
  toasts.value = [...toasts.value.slice(-2), { id, text, undo }];
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((one) => (
        <Shown key={one.id} {...one} />
      ))}
    </div>
  );
}

/** A toast, which stays while the pointer or the focus is on its button. */
function Shown({ id, text, undo }: Toast) {
  const [isHeld, setIsHeld] = useState(false);
  const hold = () => setIsHeld(true);
  const release = () => setIsHeld(false);
  useEffect(() => {
    if (isHeld) return;
    const timer = setTimeout(() => dismiss(id), undo ? undoMs : toastMs);
    return () => clearTimeout(timer);
  }, [id, isHeld]);
  return (
    <div class="toast">
      <span class="toast-text">{text}</span>
      {undo && (
        <button
          type="button"
          onFocus={hold}
          onBlur={release}
          onMouseEnter={hold}
          onMouseLeave={release}
          onClick={() => {
            dismiss(id);
            undo();
          }}
        >
          Undo
        </button>
      )}
    </div>
  );
}
