/** The one frame of dialogs. */
import { Button, Dialog, DialogActions, DialogContent, DialogTitle } from '@mui/material';
import { type FormEvent, type ReactNode, useCallback, useId } from 'react';
import type { Work } from '../many/use-work.ts';
import { useText } from '../texts/texts.ts';

interface WindowProps {
  readonly title: string;
  /** Undefined: as wide as what is in it. */
  readonly width?: 'xs' | 'sm' | 'md';
  readonly onClose: () => void;
  /** Of the first button. */
  readonly closeText?: string;
  /** Whether Enter alone closes it. */
  readonly isCareful?: boolean;
  /** What is being done and can be stopped: it is not closed before. */
  readonly work?: Pick<Work, 'isStopping' | 'stop'> | undefined;
  /** The other buttons. */
  readonly actions?: ReactNode;
  /** It is a form. */
  readonly onSubmit?: (event: FormEvent) => void;
  /** Puts the focus where a person begins: keys are not lost while it opens. */
  readonly onFocus?: (content: HTMLElement) => void;
  readonly children: ReactNode;
}

export function Window({ title, width, onClose, closeText, onSubmit, onFocus, children, ...buttons }: WindowProps) {
  const say = useText();
  const id = useId();
  const { work, isCareful = false, actions } = buttons;
  const begin = useCallback((content: HTMLElement | null): void => void (content && onFocus?.(content)), []);
  const inside = (
    <>
      <DialogTitle id={id}>{title}</DialogTitle>
      <DialogContent ref={begin} sx={{ pt: '8px !important' }}>
        {children}
      </DialogContent>
      <DialogActions>
        <Button
          color="inherit"
          disabled={work?.isStopping ?? false}
          onClick={work?.stop ?? onClose}
          autoFocus={isCareful}
        >
          {work ? say('many.stop') : (closeText ?? say('filter.cancel'))}
        </Button>
        {actions}
      </DialogActions>
    </>
  );
  return (
    <Dialog
      open
      onClose={() => work ?? onClose()}
      aria-labelledby={id}
      {...(width === undefined ? {} : { fullWidth: true, maxWidth: width })}
    >
      {onSubmit === undefined ? (
        inside
      ) : (
        <form noValidate onSubmit={onSubmit}>
          {inside}
        </form>
      )}
    </Dialog>
  );
}
