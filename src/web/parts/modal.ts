import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Opens a modal dialog, which keeps the focus inside. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  // A dialog restores the focus only if it is closed before it is removed. Other effects are cleaned up after that.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return ref;
}
