/** Short messages at the edge of the screen: what was done. */
import { Alert, Button, Snackbar } from '@mui/material';
import { type NotificationPayload, useNotificationContext } from 'ra-core';
import { useEffect, useState } from 'react';
import { useText } from '../texts/texts.ts';

const SHOWN_MS = 6000;

export function Notices() {
  const say = useText();
  const { notifications, takeNotification } = useNotificationContext();
  const [notice, setNotice] = useState<NotificationPayload>();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (notifications.length === 0 || isOpen) return;
    const next = takeNotification();
    if (next === undefined) return;
    setNotice(next);
    setOpen(true);
  }, [notifications, isOpen, takeNotification]);
  if (notice === undefined) return undefined;
  const close = (): void => setOpen(false);
  const undo = notice.notificationOptions?.['undo'] as (() => void) | undefined;
  return (
    <Snackbar
      sx={{ mb: 8 }}
      open={isOpen}
      autoHideDuration={SHOWN_MS}
      onClose={(_event, reason) => reason !== 'clickaway' && close()}
    >
      <Alert
        severity={notice.type === 'error' ? 'error' : 'success'}
        variant="filled"
        {...(undo === undefined ? { onClose: close, closeText: say('app.close') } : {})}
        action={
          undo && (
            <Button
              color="inherit"
              size="small"
              onClick={() => {
                close();
                undo();
              }}
            >
              {say('form.undo')}
            </Button>
          )
        }
      >
        {notice.message}
      </Alert>
    </Snackbar>
  );
}
