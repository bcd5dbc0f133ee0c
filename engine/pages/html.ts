/** HTML by template: what is filled in is text, unless it is HTML already. */
export interface Html {
  readonly html: string;
}

type Part = string | number | Html | readonly Html[];

export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const pieces = strings.map((text, index) => text + (index < parts.length ? filled(parts[index] ?? '') : ''));
  return { html: pieces.join('') };
}

function filled(part: Part): string {
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part));
  return 'html' in part ? part.html : part.map((item) => item.html).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);

export const NOTHING: Html = { html: '' };
