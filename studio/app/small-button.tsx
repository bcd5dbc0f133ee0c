/** A button that is an icon, and says what it does. */
import IconButton from '@mui/material/IconButton';
import type { CloseIcon } from './icons.tsx';

interface SmallButtonProps {
  readonly text: string;
  readonly Icon: typeof CloseIcon;
  readonly isOff?: boolean;
  readonly onClick: () => void;
}

export const SmallButton = ({ text, Icon, isOff = false, onClick }: SmallButtonProps) => (
  <IconButton size="small" aria-label={text} title={text} disabled={isOff} onClick={onClick}>
    <Icon fontSize="small" />
  </IconButton>
);
