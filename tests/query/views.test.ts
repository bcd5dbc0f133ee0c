import type { RecordType } from '../../engine/model/model.ts';
import { countRelations } from '../../engine/query/paths.ts';
import { faultsOf, list, problemOf, typeOf, view, viewText } from '../support/library.ts';

describe('views', () => {
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
    ['variant=shrot', 'Shelf has no variant "shrot"; it has full, short, label; did you mean "short"?'],
    ['variant=Label', 'did you mean "label"?'],
  ])('?%s: %s', (search, message) => {
    expect(problemOf(() => view(search, shelf)).errors[0]?.message).toContain(message);
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
