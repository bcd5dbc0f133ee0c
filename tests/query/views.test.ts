import type { RecordType } from '../../engine/model/model.ts';
import { countRelations } from '../../engine/query/views.ts';
import { faultsOf, list, typeOf, view, viewText } from '../support/library.ts';

describe('views', () => {
  const own = 'book_id title pages price weight in_print published sold_at position notes tags';
  const author = 'author_id name born rank';
  test.each([
    ['', `${own} author(${author}) editor(author_id name) cover(id image …) shelves(id label room height)`],
    ['include=', own],
    ['include=author', `${own} author(${author})`],
    ['include=author,author', `${own} author(${author})`],
    ['include=shelves,author', `${own} author(${author}) shelves(id label room height)`],
    ['include=author.mentor', `${own} author(${author} mentor(${author}))`],
    ['include=author.mentor,author.books', `${own} author(${author} books(${own}) mentor(${author}))`],
    ['include=author%2Cauthor.mentor', `${own} author(${author} mentor(${author}))`],
    [
      'include=author.mentor.rival.mentor',
      `${own} author(${author} mentor(${author} rival(${author} mentor(${author}))))`,
    ],
    ['include=editor.mentor', `${own} editor(author_id name mentor(${author}))`],
    ['fields=', 'book_id'],
    ['fields=book_id', 'book_id'],
    ['fields=title', 'book_id title'],
    ['fields=pages,title,pages', 'book_id title pages'],
    ['fields=author', `book_id author(${author})`],
    ['fields=title,author.name', 'book_id title author(author_id name)'],
    ['fields=author.author_id', 'book_id author(author_id)'],
    ['fields=author,author.name', `book_id author(${author})`],
    ['fields=author.mentor', `book_id author(author_id mentor(${author}))`],
    ['fields=author.mentor.name,author.born', 'book_id author(author_id born mentor(author_id name))'],
    ['fields=cover', 'book_id cover(id image …)'],
    ['fields=cover.image', 'book_id cover(id image)'],
    ['fields=editor', 'book_id editor(author_id name)'],
    ['fields=editor.name', 'book_id editor(author_id name)'],
    ['fields=title&include=', 'book_id title'],
    ['fields=title&include=author', `book_id title author(${author})`],
    ['fields=author.name&include=author,cover', 'book_id author(author_id name) cover(id image …)'],
    ['fields=author.name&include=author.mentor', `book_id author(author_id name mentor(${author}))`],
    ['fields=author&include=author.mentor', `book_id author(${author} mentor(${author}))`],
    ['include=author.mentor&fields=author.mentor.name', 'book_id author(author_id mentor(author_id name))'],
  ])('?%s', (search, expected) => {
    expect(viewText(view(search))).toBe(expected);
    expect(viewText(list(search).view)).toBe(expected);
  });

  test.each([
    ['', 'id image … book(book_id title pages price weight in_print published sold_at position notes tags)'],
    ['include=', 'id image …'],
    ['fields=', 'id'],
    ['fields=image', 'id image'],
  ])('?%s of an open type', (search, expected) => {
    expect(viewText(view(search, typeOf('Cover')))).toBe(expected);
  });

  test.each([
    ['include=autor', 'include: unknown-relation'],
    ['include=author,', 'include: unknown-relation'],
    ['include=,', 'include: unknown-relation include: unknown-relation'],
    ['include=author.', 'include: unknown-relation'],
    ['include=author.mentr', 'include: unknown-relation'],
    ['include=title', 'include: unknown-relation'],
    ['include=author.mentor.mentor.mentor.mentor', 'include: too-deep'],
    ['include=a&include=author', 'include: repeated include: unknown-relation'],
    ['fields=titel', 'fields: unknown-field'],
    ['fields=title,', 'fields: unknown-field'],
    ['fields=colour', 'fields: unknown-field'],
    ['fields=title.x', 'fields: unknown-relation'],
    ['fields=autor.name', 'fields: unknown-relation'],
    ['fields=author.nam', 'fields: unknown-field'],
    ['fields=editor.born', 'fields: not-shown'],
    ['fields=shelves.id', 'fields: unknown-field'],
    ['fields=author.mentor.mentor.mentor.mentor', 'fields: too-deep'],
    ['fields=author.name&include=', 'fields: not-included'],
    ['fields=author.mentor.name&include=author', 'fields: not-included'],
    ['fields=title&fields=pages', 'fields: repeated'],
    ['variant=full', 'variant: unknown-variant'],
    ['variant=', 'variant: unknown-variant'],
  ])('?%s is refused', (search, faults) => {
    expect(faultsOf(() => view(search)).join(' ')).toBe(faults);
    expect(faultsOf(() => list(search)).join(' ')).toBe(faults);
  });

  test.each(['_cnd[limit][1]=1', '_cnd[title]=x', 'after=x', 'before=x', 'x=1', '=1'])(
    '?%s is for lists, or nothing',
    (search) => {
      const [key] = search.split('=');
      expect(faultsOf(() => view(search))).toEqual([`${key}: unknown-parameter`]);
    },
  );

  test('as many relations as there may be', () => {
    const pathsFrom = (type: RecordType, depth: number): string[] =>
      [...type.relations.values()].flatMap(({ name, target }) => [
        name,
        ...(depth > 1 ? pathsFrom(target, depth - 1).map((rest) => `${name}.${rest}`) : []),
      ]);
    const paths = pathsFrom(typeOf('Book'), 4);
    expect(countRelations(view(`include=${paths.slice(0, 100).join()}`))).toBe(100);
    expect(faultsOf(() => view(`include=${paths.slice(0, 101).join()}`))).toEqual(['include: too-many']);
    expect(faultsOf(() => view(`fields=${paths.join()}`))).toEqual(['fields: too-many']);
  });
});

describe('variants', () => {
  const shelf = typeOf('Shelf');
  test.each([
    ['', 'full', 'id label room height'],
    ['variant=full', 'full', 'id label room height'],
    ['variant=short', 'short', 'id label room'],
    ['variant=label', 'label', 'id label'],
    ['variant=short&fields=room', 'short', 'id room'],
  ])('?%s', (search, variant, expected) => {
    expect(view(`${search}&include=`, shelf).variant).toBe(shelf.variants.get(variant));
    expect(viewText(view(`${search}&include=`, shelf))).toBe(expected);
  });

  test.each([
    ['_cnd[height]=5', ''],
    ['_cnd[id]=5', ''],
    ['variant=short&_cnd[room]=x&_cnd[orderBy]=room', ''],
    ['variant=short&_cnd[height]=5', '_cnd[height]: not-in-variant'],
    ['variant=short&_cnd[orderBy]=height', '_cnd[orderBy]: not-in-variant'],
    ['variant=nothing&_cnd[height]=5&_cnd[orderBy]=height', 'variant: unknown-variant'],
  ])('?%s: %s', (search, faults) => {
    const action = (): unknown => list(search, shelf);
    if (faults === '') expect(action).not.toThrow();
    else expect(faultsOf(action).join(' ')).toBe(faults);
  });
});
