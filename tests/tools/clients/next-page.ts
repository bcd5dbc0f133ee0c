/** The cursor of the next page, as the `Link` header of a list has it. */
export function nextCursor(link: string | null | undefined): string {
  const [, address = ''] = /<([^>]+)>; rel="next"/.exec(link ?? '') ?? [];
  return new URL(address, 'http://anywhere').searchParams.get('after') ?? '';
}
