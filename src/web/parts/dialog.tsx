import type { ComponentChildren, RefObject } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
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
export function useModal(): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  // A dialog restores the focus only if it is closed before it is removed. Other effects are cleaned up after removal.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return ref;
}
