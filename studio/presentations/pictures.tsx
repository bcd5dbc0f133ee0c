/** Texts that are more than texts: pictures, colours, and Markdown. */
import Box from '@mui/material/Box';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { textOf } from '../data/json.ts';
import type { Presentation, ShowProps } from './presentation.ts';
import { link, ShownText } from './text.tsx';
import { TextInput } from './text-input.tsx';

const Markdown = lazy(() => import('./markdown.tsx'));

/** The service says from which other origins pictures may be shown. */
const mayShow = (source: string): boolean => {
  const { origin, protocol } = URL.parse(source, location.href) ?? {};
  const others = document.getElementById('studio')?.dataset['images']?.split(' ') ?? [];
  const isAddress = /^(?:https?:\/\/|\/)/i.test(source) && /^https?:$/.test(protocol ?? '');
  return isAddress && [location.origin, ...others].includes(origin ?? '');
};

/** Where it cannot be loaded, or may not be, its address stands in for it. */
function ShownImage(props: ShowProps): ReactNode {
  const [isBroken, setBroken] = useState(false);
  const source = textOf(props.value);
  if (isBroken || !mayShow(source)) return link.Show({ ...props, field: { ...props.field, format: 'uri' } });
  const size = props.isShort ? { maxHeight: 28, maxWidth: 80 } : { maxHeight: 240, maxWidth: '100%' };
  return (
    <Box
      component="img"
      src={source}
      alt={source}
      loading="lazy"
      onError={() => setBroken(true)}
      style={{ ...size, verticalAlign: 'middle' }}
    />
  );
}

function ShownColor(props: ShowProps): ReactNode {
  const color = textOf(props.value);
  const swatch = { width: '1em', height: '1em', borderRadius: 3, marginInlineEnd: 6, border: '1px solid' } as const;
  return (
    <span style={{ display: 'inline-flex', alignItems: 'center' }}>
      {CSS.supports('color', color) && <span aria-hidden style={{ ...swatch, backgroundColor: color }} />}
      <ShownText {...props} />
    </span>
  );
}

const ShownMarkdown = (props: ShowProps): ReactNode =>
  props.isShort ? (
    <ShownText {...props} />
  ) : (
    <Suspense fallback={<ShownText {...props} />}>
      <Markdown text={textOf(props.value)} />
    </Suspense>
  );

export const image: Presentation = { Show: ShownImage, Input: TextInput };
export const color: Presentation = { Show: ShownColor, Input: TextInput };
export const markdown: Presentation = { Show: ShownMarkdown, Input: TextInput };
