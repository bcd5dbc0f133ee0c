/** Nothing that was typed is lost by a click: leaving asks, and so does closing the tab. */
import { Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle } from '@mui/material';
import { useEffect } from 'react';
import { useBlocker } from 'react-router-dom';
import { useText } from '../texts/texts.ts';

interface LeaveGuardProps {
  readonly isOn: () => boolean;
  /** The person has been asked, and goes. */
  readonly onLeave: () => void;
}

export function LeaveGuard({ isOn, onLeave }: LeaveGuardProps) {
  const say = useText();
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => isOn() && currentLocation.pathname !== nextLocation.pathname,
  );
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => {
      if (isOn()) event.preventDefault();
    };
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isOn]);
  if (blocker.state !== 'blocked') return undefined;
  const leave = (): void => {
    onLeave();
    blocker.proceed();
  };
  return (
    <Dialog open onClose={() => blocker.reset()} aria-labelledby="leave-title">
      <DialogTitle id="leave-title">{say('form.leave_title')}</DialogTitle>
      <DialogContent>
        <DialogContentText>{say('form.leave_text')}</DialogContentText>
      </DialogContent>
      <DialogActions>
        <Button onClick={() => blocker.reset()} autoFocus>
          {say('form.stay')}
        </Button>
        <Button color="error" onClick={leave}>
          {say('form.leave')}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
