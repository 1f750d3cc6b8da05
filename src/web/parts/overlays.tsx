import { signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Action, useAction } from "../load.ts";
import { Form } from "./form.tsx";

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly onClose: () => void;
  /** Whether the user must answer. Escape then does not close the dialog. */
  readonly mustAnswer?: boolean;
  /** Whether the dialog opens without an action of the user. Its title has the focus, so that keys reach no field. */
  readonly isUnasked?: boolean;
}

/** A modal dialog, which keeps the focus inside. Escape closes it. */
export function Dialog({ title, children, footer, onClose, mustAnswer, isUnasked }: DialogProps) {
  const id = useId();
  return (
    <dialog
      ref={useModal()}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!mustAnswer) onClose();
      }}
      // In Chromium a second Escape closes a dialog even if its `cancel` event was prevented.
      onKeyDown={(event) => mustAnswer && event.key === "Escape" && event.preventDefault()}
    >
      <div class="dialog">
        <h2 id={id} {...(isUnasked && { tabIndex: -1, autofocus: true })}>
          {title}
        </h2>
        {children}
        {footer && <footer>{footer}</footer>}
      </div>
    </dialog>
  );
}

interface FormDialogProps {
  readonly title: string;
  readonly of: Action;
  /** The label of the button. */
  readonly verb: string;
  readonly disabled?: boolean;
  readonly isDangerous?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog with a form that can be canceled. Escape closes it too, and keeps what was typed. */
export function FormDialog({ title, onClose, ...form }: FormDialogProps) {
  const cancel = () => {
    form.of.draft?.discard();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form label={title} onCancel={cancel} {...form} />
    </Dialog>
  );
}

interface ConfirmProps extends Omit<FormDialogProps, "of" | "disabled" | "isDangerous"> {
  readonly act: () => Promise<unknown>;
}

/** A confirmation of an action that cannot be undone. Closes when the action has succeeded. */
export function Confirm({ act, ...rest }: ConfirmProps) {
  const doing = useAction(async () => {
    await act();
    rest.onClose();
  });
  return <FormDialog isDangerous of={doing} {...rest} />;
}

/**
 * A question that an action asks in its course: `ask` resolves to whether the user has confirmed. The dialog is to be
 * rendered.
 */
export function useConfirmation(props: Omit<ConfirmProps, "act" | "onClose">) {
  const [answer, setAnswer] = useState<((isConfirmed: boolean) => void) | null>(null);
  const end = (isConfirmed: boolean) => {
    answer?.(isConfirmed);
    setAnswer(null);
  };
  return {
    ask: () => new Promise<boolean>((resolve) => setAnswer(() => resolve)),
    dialog: answer && <Confirm {...props} act={async () => end(true)} onClose={() => end(false)} />,
  };
}

/** Opens a modal dialog, which keeps the focus inside. */
function useModal(): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  // A dialog restores the focus only if it is closed before it is removed. Other effects are cleaned up after removal.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return ref;
}

/** A result of the palette. */
export interface PaletteEntry {
  readonly text: string;
  /** A description in one line. */
  readonly about?: string;
  readonly kind: string;
  readonly href: string;
}

interface PaletteProps {
  readonly label: string;
  readonly placeholder: string;
  /** Returns the local matches of a text. */
  readonly known: (text: string) => readonly PaletteEntry[];
  /** Searches the server for further matches; may reject. */
  readonly search?: (text: string) => Promise<readonly PaletteEntry[]>;
  /** The message when nothing matches. */
  readonly nothing: (text: string) => string;
  readonly go: (href: string) => void;
  readonly onClose: () => void;
}

const waitMs = 150;
const most = 30;

/** A dialog that searches for a typed text and opens the chosen result. */
export function Palette({ label, placeholder, known, search, nothing, go, onClose }: PaletteProps) {
  const dialog = useModal();
  const [text, setText] = useState("");
  /** null while the server is searched. */
  const [found, setFound] = useState<readonly PaletteEntry[] | null>([]);
  const [chosen, setChosen] = useState(0);
  const wanted = text.trim();
  useEffect(() => {
    setFound(wanted === "" || !search ? [] : null);
    if (wanted === "" || !search) return;
    let isOver = false;
    const timer = setTimeout(async () => {
      const results = await search(wanted).catch(() => []);
      if (!isOver) setFound(results);
    }, waitMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [wanted]);
  const entries = [...known(wanted), ...(found ?? [])].slice(0, most);
  const active = Math.min(chosen, Math.max(0, entries.length - 1));
  useEffect(() => {
    document.getElementById(`palette-${active}`)?.scrollIntoView({ block: "nearest" });
  }, [active]);
  const leave = (place: PaletteEntry | undefined) => {
    if (!place) return;
    onClose();
    go(place.href);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setChosen(Math.min(active + 1, entries.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(active - 1, 0));
    else if (event.key === "Enter") leave(entries[active]);
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it
    <dialog
      ref={dialog}
      class="palette"
      aria-label={label}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <input
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? `palette-${active}` : undefined}
        placeholder={placeholder}
        value={text}
        onInput={(event) => {
          setText((event.target as HTMLInputElement).value);
          setChosen(0);
        }}
        onKeyDown={onKey}
      />
      <p role="status" hidden={entries.length > 0}>
        {entries.length === 0 && (found === null ? "Searching…" : nothing(wanted))}
      </p>
      <div class="options" id="palette-list" role="listbox" aria-label="Found">
        {entries.map((place, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the input does the same
          // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus
          <div
            key={place.href + place.text}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === active}
            onClick={() => leave(place)}
          >
            <div class="grow">
              {place.about === undefined ? (
                <bdi>{place.text}</bdi>
              ) : (
                <strong>
                  <bdi>{place.text}</bdi>
                </strong>
              )}
              <span>
                <bdi>{place.about}</bdi>
              </span>
            </div>
            <small>{place.kind}</small>
          </div>
        ))}
      </div>
    </dialog>
  );
}

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
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((toast) => (
        <ShownToast key={toast.id} {...toast} />
      ))}
    </div>
  );
}

/** A toast, which stays while the pointer or the focus is on its button. */
function ShownToast({ id, text, undo }: Toast) {
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
