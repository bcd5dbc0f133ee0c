/** Markdown as elements: HTML within it stays text. */
import Box from '@mui/material/Box';
import Link from '@mui/material/Link';
import { type Token, lexer } from 'marked';
import { createElement, Fragment, type ReactNode } from 'react';

const TAGS: Readonly<Record<string, string>> = {
  paragraph: 'p',
  strong: 'strong',
  em: 'em',
  del: 'del',
  codespan: 'code',
  code: 'pre',
  blockquote: 'blockquote',
  list_item: 'li',
};
const SAFE = /^(?:https?|mailto):/i;

interface Inner {
  readonly tokens?: readonly Token[];
  readonly items?: readonly Token[];
  readonly depth?: number;
  readonly ordered?: boolean;
  readonly href?: string;
  readonly text?: string;
}

function shown(token: Token, key: number): ReactNode {
  const { tokens, items, depth, ordered, href = '', text = token.raw } = token as Inner;
  const inner = (items ?? tokens)?.map(shown) ?? text;
  if (token.type === 'space') return undefined;
  if (token.type === 'br' || token.type === 'hr') return createElement(token.type, { key });
  // The page has headings of its own above it.
  if (token.type === 'heading') return createElement(`h${Math.min(6, (depth ?? 1) + 2)}`, { key }, inner);
  if (token.type === 'list') return createElement(ordered === true ? 'ol' : 'ul', { key }, inner);
  if (token.type === 'link' && SAFE.test(href))
    return (
      <Link key={key} href={href} target="_blank" rel="noreferrer noopener">
        {inner}
      </Link>
    );
  return createElement(TAGS[token.type] ?? Fragment, { key }, inner);
}

export default function Markdown({ text }: { readonly text: string }) {
  return <Box sx={{ '& > :first-child': { mt: 0 }, '& > :last-child': { mb: 0 } }}>{lexer(text).map(shown)}</Box>;
}
