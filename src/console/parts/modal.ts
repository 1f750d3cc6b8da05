import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Opens a dialog over the page, which keeps the focus inside. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  // Closed before it is removed, a dialog gives the focus back; other effects end after that.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return ref;
}
