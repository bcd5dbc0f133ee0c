/** The heading of a page. The browser's tab, its history and screen readers know the page by the same text. */
import type { SxProps, Theme } from '@mui/material/styles';
import Typography from '@mui/material/Typography';
import { useEffect } from 'react';
import { useModel } from '../data/model.ts';

interface HeadingProps {
  readonly text: string;
  readonly sx?: SxProps<Theme>;
}

export function Heading({ text, sx }: HeadingProps) {
  const { title } = useModel();
  useEffect(() => {
    document.title = `${text} · ${title}`;
  }, [text, title]);
  return (
    <Typography variant="h1" sx={[{ overflowWrap: 'anywhere' }, sx ?? {}] as SxProps<Theme>}>
      <bdi>{text}</bdi>
    </Typography>
  );
}
