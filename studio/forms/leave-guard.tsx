/** Nothing that was typed is lost by a click: leaving asks, and so does closing the tab. */
import { Button } from '@mui/material';
import { useEffect } from 'react';
import { useBlocker } from 'react-router-dom';
import { Window } from '../app/window.tsx';
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
    <Window
      title={say('form.leave_title')}
      onClose={() => blocker.reset()}
      closeText={say('form.stay')}
      isCareful
      actions={
        <Button color="error" onClick={leave}>
          {say('form.leave')}
        </Button>
      }
    >
      {say('form.leave_text')}
    </Window>
  );
}
