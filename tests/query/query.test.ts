import { faultsOf, filterText, list, orderText, problemOf, typeOf, view } from '../support/library.ts';

describe('parameters', () => {
  test.each([
    ['a=%', 'a'],
    ['a=%4', 'a'],
    ['a=%zz', 'a'],
    ['%=1', '%'],
    ['a%20b=%C3', 'a b'],
    ['a=%C3%28', 'a'],
    ['a=%C0%80', 'a'],
    ['a=%ED%A0%80', 'a'],
    ['a=%00', 'a'],
    ['a=\u00e9', 'a'],
  ])('?%s is malformed', (search, parameter) => {
    expect(faultsOf(() => list(search))).toEqual([`${parameter}: malformed`]);
    expect(faultsOf(() => view(search))).toEqual([`${parameter}: malformed`]);
  });
});

describe('limit', () => {
  test.each<[string, number, number | undefined]>([
    ['', 0, undefined],
    ['_cnd[limit]=20&_cnd[limit]=10', 20, 10],
    ['_cnd[limit]=20,10', 20, 10],
    ['_cnd%5Blimit%5D=20%2C10', 20, 10],
    ['_cnd[limit][]=20,10', 20, 10],
    ['_cnd%5Blimit%5D=20&_cnd%5blimit%5d=10', 20, 10],
    ['_cnd[limit][]=20&_cnd[limit][]=10', 20, 10],
    ['_cnd[limit][0]=20&_cnd[limit][1]=10', 20, 10],
    ['_cnd[limit][1]=10&_cnd[limit][0]=20', 20, 10],
    ['_cnd%5Blimit%5D%5B1%5D=10&_cnd%5Blimit%5D%5B0%5D=20', 20, 10],
    ['_cnd[limit][1]=10', 0, 10],
    ['_cnd[limit][0]=20', 20, undefined],
    ['_cnd[limit]=0&_cnd[limit]=0', 0, 0],
    ['_cnd[limit]=9007199254740991&_cnd[limit]=100', 9007199254740991, 100],
  ])('?%s', (search, offset, limit) => {
    expect(list(search)).toMatchObject({ offset, limit });
  });

  test.each([
    ['_cnd[limit]=20', '_cnd[limit]: lone-value'],
    ['_cnd[limit]=0,20,5', '_cnd[limit]: too-many-items'],
    ['_cnd[limit]=0,', '_cnd[limit]: invalid-value'],
    ['_cnd[limit][0]=0,20', '_cnd[limit][0]: invalid-value'],
    ['_cnd[limit][]=20', '_cnd[limit][]: lone-value'],
    ['_cnd[limit]=1&_cnd[limit]=2&_cnd[limit]=3', '_cnd[limit]: too-many-items'],
    ['_cnd[limit][2]=1', '_cnd[limit][2]: too-many-items'],
    ['_cnd[limit][0]=1&_cnd[limit][0]=2', '_cnd[limit][0]: repeated'],
    ['_cnd[limit][1]=1&_cnd[limit][1]=2', '_cnd[limit][1]: repeated'],
    ['_cnd[limit]=1&_cnd[limit][]=2', '_cnd[limit]: mixed-forms'],
    ['_cnd[limit][]=1&_cnd[limit][1]=2', '_cnd[limit][]: mixed-forms'],
    ['_cnd[limit]=1&_cnd[limit][1]=2', '_cnd[limit]: mixed-forms'],
    ['_cnd[limit][x]=1', '_cnd[limit][x]: malformed-array'],
    ['_cnd[limit][00]=1', '_cnd[limit][00]: malformed-array'],
    ['_cnd[limit][-1]=1', '_cnd[limit][-1]: malformed-array'],
    ['_cnd[limit][0][0]=1', '_cnd[limit][0][0]: malformed-array'],
    ['_cnd[limit][1]=', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=x', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=-1', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=+1', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=1.5', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=1e1', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][1]=0x10', '_cnd[limit][1]: invalid-value'],
    ['_cnd[limit][0]=9007199254740992', '_cnd[limit][0]: invalid-value'],
    ['_cnd[limit][1]=101', '_cnd[limit][1]: limit-too-large'],
  ])('?%s is refused', (search, fault) => {
    expect(faultsOf(() => list(search))).toEqual([fault]);
  });
});

describe('order', () => {
  test.each([
    ['', 'position desc, book_id desc'],
    ['_cnd[orderBy]=title', 'title, book_id'],
    ['_cnd[orderBy][]=title', 'title, book_id'],
    ['_cnd[orderBy][0]=title', 'title, book_id'],
    ['_cnd[orderBy][0][0]=title', 'title, book_id'],
    ['_cnd[orderBy][0][]=title', 'title, book_id'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=desc', 'title desc, book_id desc'],
    ['_cnd[orderBy][]=title&_cnd[orderBy][]=DESC', 'title desc, book_id desc'],
    ['_cnd[orderBy][1]=Desc&_cnd[orderBy][0]=title', 'title desc, book_id desc'],
    ['_cnd[orderBy][0][0]=title&_cnd[orderBy][0][1]=desc', 'title desc, book_id desc'],
    ['_cnd[orderBy][0][]=title&_cnd[orderBy][0][]=desc', 'title desc, book_id desc'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=ASC', 'title, book_id'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=pages', 'title, pages, book_id'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=desc&_cnd[orderBy]=pages', 'title desc, pages, book_id'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=pages&_cnd[orderBy]=desc', 'title, pages desc, book_id desc'],
    ['_cnd[orderBy][1][0]=pages&_cnd[orderBy][0][1]=desc&_cnd[orderBy][0][0]=title', 'title desc, pages, book_id'],
    ['_cnd[orderBy][10]=pages&_cnd[orderBy][9]=title', 'title, pages, book_id'],
    ['_cnd[orderBy]=title,desc,pages', 'title desc, pages, book_id'],
    ['_cnd[orderBy]=title,desc&_cnd[orderBy]=author.name,DESC', 'title desc, author.name desc, book_id desc'],
    ['_cnd[orderBy][]=title,desc', 'title desc, book_id desc'],
    ['_cnd[orderBy]=book_id&_cnd[orderBy]=title', 'book_id'],
    ['_cnd[orderBy]=author.name', 'author.name, book_id'],
    ['_cnd[orderBy]=author', 'author.author_id, book_id'],
    ['_cnd[orderBy]=author.mentor.name&_cnd[orderBy]=desc', 'author.mentor.name desc, book_id desc'],
  ])('?%s', (search, expected) => {
    expect(orderText(list(search).order)).toBe(expected);
  });

  test.each([
    ['_cnd[orderBy]=', '_cnd[orderBy]: unknown-field'],
    ['_cnd[orderBy]=desc', '_cnd[orderBy]: misplaced-direction'],
    ['_cnd[orderBy]=desc,title', '_cnd[orderBy]: misplaced-direction'],
    ['_cnd[orderBy]=title,', '_cnd[orderBy]: unknown-field'],
    ['_cnd[orderBy]=asc&_cnd[orderBy]=title', '_cnd[orderBy]: misplaced-direction'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=desc&_cnd[orderBy]=asc', '_cnd[orderBy]: misplaced-direction'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=title', '_cnd[orderBy]: repeated'],
    ['_cnd[orderBy]=title&_cnd[orderBy]=desc&_cnd[orderBy]=title', '_cnd[orderBy]: repeated'],
    ['_cnd[orderBy]=author&_cnd[orderBy]=author.author_id', '_cnd[orderBy]: repeated'],
    ['_cnd[orderBy][0]=title&_cnd[orderBy][0]=pages', '_cnd[orderBy][0]: repeated'],
    ['_cnd[orderBy]=title&_cnd[orderBy][]=pages', '_cnd[orderBy]: mixed-forms'],
    ['_cnd[orderBy][0]=title&_cnd[orderBy][0][1]=desc', '_cnd[orderBy][0]: mixed-forms'],
    ['_cnd[orderBy][0][0]=title&_cnd[orderBy][0][]=desc', '_cnd[orderBy][0][0]: mixed-forms'],
    ['_cnd[orderBy][0][0]=desc', '_cnd[orderBy][0][0]: malformed-array'],
    ['_cnd[orderBy][0][0]=title&_cnd[orderBy][1][0]=desc', '_cnd[orderBy][0][0]: malformed-array'],
    ['_cnd[orderBy][0][0]=title&_cnd[orderBy][0][1]=pages', '_cnd[orderBy][0][0]: malformed-array'],
    ['_cnd[orderBy][][0]=title', '_cnd[orderBy][][0]: malformed-array'],
    ['_cnd[orderBy][title]=desc', '_cnd[orderBy][title]: malformed-array'],
    ['_cnd[orderBy][0][0][0]=title', '_cnd[orderBy][0][0][0]: malformed-array'],
    ['_cnd[orderBy]=titel', '_cnd[orderBy]: unknown-field'],
    ['_cnd[orderBy]=title+desc', '_cnd[orderBy]: unknown-field'],
    ['_cnd[orderBy]=limit', '_cnd[orderBy]: unknown-field'],
    ['_cnd[orderBy]=notes', '_cnd[orderBy]: not-orderable'],
    ['_cnd[orderBy]=tags', '_cnd[orderBy]: not-orderable'],
    ['_cnd[orderBy]=author.rank', '_cnd[orderBy]: not-orderable'],
    ['_cnd[orderBy]=shelves', '_cnd[orderBy]: to-many'],
    ['_cnd[orderBy]=shelves.label', '_cnd[orderBy]: to-many'],
    ['_cnd[orderBy]=author.books.title', '_cnd[orderBy]: to-many'],
    ['_cnd[orderBy]=title.name', '_cnd[orderBy]: unknown-relation'],
    ['_cnd[orderBy]=autor.name', '_cnd[orderBy]: unknown-relation'],
    ['_cnd[orderBy]=author.mentor.mentor.mentor.mentor', '_cnd[orderBy]: too-deep'],
  ])('?%s is refused', (search, fault) => {
    expect(faultsOf(() => list(search))).toEqual([fault]);
  });
});

describe('filters', () => {
  test.each<[string, readonly string[]]>([
    ['_cnd[title]=x', ['title eq "x"']],
    ['_cnd[title]=', ['title eq ""']],
    ['_cnd[title]', ['title eq ""']],
    ['_cnd[title]=true', ['title eq "true"']],
    ['_cnd%5Btitle%5D%5Beq%5D=a%26b', ['title eq "a&b"']],
    ['&&_cnd[title]=a+b=c%2B%3D', ['title eq "a b=c+="']],
    ['_cnd[title]=%C3%A9%F0%9F%98%80', ['title eq "é\u{1F600}"']],
    ['_cnd[title]=\u00c3\u00a9', ['title eq "é"']],
    ['_cnd[pages]=1.0', ['pages eq 1']],
    ['_cnd[pages][gte]=5&_cnd[pages][lt]=9', ['pages gte 5', 'pages lt 9']],
    ['_cnd[pages]=5&_cnd[pages][eq]=6', ['pages eq 5', 'pages eq 6']],
    ['_cnd[weight][gt]=1e-3', ['weight gt 0.001']],
    ['_cnd[sold_at][lt]=2024-02-29T00:00:00%2B01:00', ['sold_at lt "2024-02-28T23:00:00Z"']],
    ['_cnd[book_id][in]=7&_cnd[book_id][in]=8', ['book_id in [7,8]']],
    ['_cnd[title][in]=', ['title in [""]']],
    ['_cnd[title][in]=a,b', ['title in ["a,b"]']],
    ['_cnd[book_id][in]=7,8', ['book_id in [7,8]']],
    ['_cnd[book_id][in]=7%2C8&_cnd[book_id][in]=9', ['book_id in [7,8,9]']],
    ['_cnd[author][in][]=7,8', ['author.author_id in [7,8]']],
    ['_cnd[price][in]=1.50,2', ['price in ["1.50","2"]']],
    ['_cnd[published][in]=2024-02-29,2024-03-01', ['published in ["2024-02-29","2024-03-01"]']],
    ['_cnd[in_print][in]=1,False', ['in_print in [true,false]']],
    ['_cnd[in_print]=True&_cnd[title][null]=0', ['in_print eq true', 'title null false']],
    ['_cnd[$any][0][pages][in]=1,2', ['any(pages in [1,2])']],
    ['_cnd[shelves][$count][in]=1,2', ['shelves count in [1,2]']],
    ['_cnd[title][in]=a&_cnd[title][in]=a,b', ['title in ["a","a,b"]']],
    ['_cnd[title][in][]=a&_cnd[title][in][]=b', ['title in ["a","b"]']],
    ['_cnd[title][in][1]=b&_cnd[title][in][0]=a', ['title in ["a","b"]']],
    ['_cnd[title][in][7]=b&_cnd[title][in][3]=a', ['title in ["a","b"]']],
    ['_cnd[cover][in]=1&_cnd[cover][in]=2', ['cover.id in [1,2]']],
    ['_cnd[title]=x&_cnd[limit][1]=5&_cnd[orderBy]=title&_cnd[pages]=1', ['title eq "x"', 'pages eq 1']],
    ['_cnd[$any][0][title]=a&_cnd[$any][1][pages][gt]=5', ['any(title eq "a"; pages gt 5)']],
    ['_cnd[$any][1][title]=a&_cnd[$any][0][pages]=5', ['any(pages eq 5; title eq "a")']],
    ['_cnd[$any][7][title]=a&_cnd[$any][7][pages]=5', ['any(title eq "a", pages eq 5)']],
    ['_cnd[$any][][title]=a&_cnd[$any][][pages]=5', ['any(title eq "a"; pages eq 5)']],
    ['_cnd[$any][title]=a&_cnd[$any][pages]=5', ['any(title eq "a"; pages eq 5)']],
    ['_cnd[$none][title][in]=a&_cnd[$none][title][in]=b', ['none(title in ["a","b"])']],
    ['_cnd[$none][0][title][in][]=a&_cnd[$none][0][title][in][]=b', ['none(title in ["a","b"])']],
    ['_cnd%5B%24any%5D%5B0%5D%5Btitle%5D=a', ['any(title eq "a")']],
    [
      '_cnd[$all][0][$any][0][title]=a&_cnd[$all][0][$any][1][$none][0][pages]=5&_cnd[pages]=7',
      ['all(any(title eq "a"; none(pages eq 5)))', 'pages eq 7'],
    ],
    ['_cnd[shelves.label]=x', ['shelves some(label eq "x")']],
    ['_cnd[author.books.shelves.label]=x', ['author.books some(shelves some(label eq "x"))']],
    [
      '_cnd[shelves][$some][0][label]=x&_cnd[shelves][$some][0][height][gt]=5',
      ['shelves some(label eq "x", height gt 5)'],
    ],
    ['_cnd[shelves][$some][label]=x&_cnd[shelves][$some][height]=5', ['shelves some(label eq "x", height eq 5)']],
    [
      '_cnd[shelves][$some][0][label]=x&_cnd[shelves][$some][1][label]=y',
      ['shelves some(label eq "x")', 'shelves some(label eq "y")'],
    ],
    ['_cnd[author.books][$count][in]=1&_cnd[author.books][$count][in]=2', ['author.books count in [1,2]']],
  ])('?%s', (search, expected) => {
    expect(list(search).filters.map(filterText)).toEqual(expected);
  });

  test.each([
    ['_cnd[titel]=x', '_cnd[titel]: unknown-field'],
    ['_cnd[__proto__]=x', '_cnd[__proto__]: unknown-field'],
    ['_cnd[title][constructor]=x', '_cnd[title][constructor]: unknown-operator'],
    ['_cnd[title][]=x', '_cnd[title][]: unknown-operator'],
    ['_cnd[title][EQ]=x', '_cnd[title][EQ]: unknown-operator'],
    ['_cnd[in_print][gt]=true', '_cnd[in_print][gt]: unknown-operator'],
    ['_cnd[title][eq]=a&_cnd%5Btitle%5D[eq]=a', '_cnd[title][eq]: repeated'],
    ['_cnd[title][eq][]=a', '_cnd[title][eq][]: malformed-filter'],
    ['_cnd[title][in]=a&_cnd[title][in][]=b', '_cnd[title][in]: mixed-forms'],
    ['_cnd[title][in][x]=a', '_cnd[title][in][x]: malformed-array'],
    ['_cnd[title][null]=', '_cnd[title][null]: invalid-value'],
    ['_cnd[pages]=', '_cnd[pages]: invalid-value'],
    ['_cnd[pages]=007', '_cnd[pages]: invalid-value'],
    ['_cnd[pages][in]=1,', '_cnd[pages][in]: invalid-value'],
    ['_cnd[pages]=1,2', '_cnd[pages]: invalid-value'],
    ['_cnd[price]=1e3', '_cnd[price]: invalid-value'],
    ['_cnd[in_print]=TRUE', '_cnd[in_print]: invalid-value'],
    ['_cnd[in_print]=yes', '_cnd[in_print]: invalid-value'],
    ['_cnd[sold_at]=2024-02-30T00:00:00Z', '_cnd[sold_at]: invalid-value'],
    ['_cnd[author]=', '_cnd[author]: invalid-value'],
    ['_cnd[notes]=x', '_cnd[notes]: not-filterable'],
    ['_cnd[tags][in]=x', '_cnd[tags][in]: not-filterable'],
    ['_cnd[shelves]=1', '_cnd[shelves]: to-many'],
    ['_cnd[author.books][title]=x', '_cnd[author.books][title]: to-many'],
    ['_cnd[shelves][$some][0]=1', '_cnd[shelves][$some][0]: malformed-filter'],
    ['_cnd[shelves][$some][0][label]=1&_cnd[shelves][$some][label]=1', '_cnd[shelves][$some][0][label]: mixed-forms'],
    ['_cnd[shelves][$count][like]=1', '_cnd[shelves][$count][like]: unknown-operator'],
    ['_cnd[shelves][$count]=1&_cnd[shelves][$count]=2', '_cnd[shelves][$count]: repeated'],
    [
      '_cnd[author.books][$some][0][shelves.books.author]=1',
      '_cnd[author.books][$some][0][shelves.books.author]: too-deep',
    ],
    ['_cnd[$any][0]=1', '_cnd[$any][0]: malformed-filter'],
    ['_cnd[$any][0][limit]=1', '_cnd[$any][0][limit]: unknown-field'],
    ['_cnd[$any][0][title]=a&_cnd[$any][0][title]=b', '_cnd[$any][0][title]: repeated'],
    ['_cnd[$any][$all][$none][$any][title]=a', '_cnd[$any][$all][$none][$any][title]: too-deep'],
    ['_cnd[author.]=1', '_cnd[author.]: unknown-field'],
    ['_cnd[author.mentor.rival.mentor.rival]=1', '_cnd[author.mentor.rival.mentor.rival]: too-deep'],
  ])('?%s is refused', (search, fault) => {
    expect(faultsOf(() => list(search))).toEqual([fault]);
  });

  const loan = typeOf('Loan');

  test.each<[string, readonly string[]]>([
    ['_cnd[state][in]=open,closed', ['state in ["open","closed"]']],
    ['_cnd[state][in][]=open&_cnd[state][in][]=closed,open', ['state in ["open","closed","open"]']],
    ['_cnd[state][in][0]=open', ['state in ["open"]']],
    ['_cnd[period][in]=7,28', ['period in [7,28]']],
    ['_cnd[card][in]=gold,SILVER', ['card in ["gold","silver"]']],
    ['_cnd[reason][in]=lost&_cnd[reason][in]=lost, torn', ['reason in ["lost","lost, torn"]']],
    ['_cnd[note][eq]=null', ['note eq "null"']],
    ['_cnd[note][in][]=null', ['note in ["null"]']],
    ['_cnd[note]=Null', ['note eq "Null"']],
    ['_cnd[code]=null', ['code eq "null"']],
  ])('of loans: ?%s', (search, expected) => {
    expect(list(search, loan).filters.map(filterText)).toEqual(expected);
  });

  test.each([
    [
      '_cnd[state]=opne',
      '"opne" is not a valid value of "state"; expected one of "open", "closed", "null and void"; did you mean "open"?',
    ],
    ['_cnd[state][ne]=Open', 'did you mean "open"?'],
    ['_cnd[state]=', 'to find records without a value, use _cnd[state][null]=true'],
    [
      '_cnd[state][in]=open,clsed',
      '"clsed" is not a valid value of "state"; expected one of "open", "closed", "null and void"; did you mean "closed"?',
    ],
    ['_cnd[state][in]=open,', '"" is not a valid value of "state"'],
    ['_cnd[state][in][0]=open,closed', '"open,closed" is not a valid value of "state"'],
    ['_cnd[period]=8', '"8" is not a valid value of "period"; expected one of 7, 14, 28'],
    ['_cnd[card]=goldd', 'did you mean "Gold"?'],
    ['_cnd[reason][in]=lost,torn', '"lost,torn" is not a valid value of "reason"'],
    ['_cnd[secret]=rad', 'The given value is not a valid value of "secret"; expected one of "red", "blue"'],
    ['_cnd[$any][0][state]=opne', 'did you mean "open"?'],
    ['_cnd[note]=null', 'for records without a value use _cnd[note][null]=true, for this text _cnd[note][eq]=null'],
    ['_cnd[$any][0][note]=null', 'use _cnd[$any][0][note][null]=true'],
    ['_cnd[state]=null', 'use _cnd[state][null]=true'],
    ['_cnd[period]=null', 'use _cnd[period][null]=true'],
    ['_cnd[period][ne]=null', 'to find records with a value, use _cnd[period][null]=false'],
    ['_cnd[book]=null', 'use _cnd[book][null]=true'],
    ['_cnd[book.author]=NULL', 'use _cnd[book.author][null]=true'],
    ['note=null', 'did you mean "_cnd[note]"?'],
  ])('of loans: ?%s: %s', (search, message) => {
    const { errors } = problemOf(() => list(search, loan));
    expect(errors.map((fault) => fault.message).join('\n')).toContain(message);
  });

  test.each([
    ['_cnd[shelve]=1', 'did you mean "shelves"?'],
    ['_cnd[$any][0][shelve]=1', 'did you mean "shelves"?'],
    ['_cnd[author.book]=1', 'did you mean "books"?'],
    ['_cnd[orderBy]=shelve', 'Book has no field "shelve"'],
  ])('of books: ?%s: %s', (search, message) => {
    const { errors } = problemOf(() => list(search));
    expect(errors.map((fault) => fault.message)).toEqual([
      expect.stringMatching(new RegExp(`${message.replaceAll('?', '\\?')}$`)),
    ]);
  });
});

test.each<[what: string, most: number, one: (index: number) => string]>([
  ['filters', 50, (index) => `_cnd[$any][${index}][pages]=1`],
  ['values of a filter', 100, (index) => `_cnd[pages][in][${index}]=1`],
  ['terms of an order', 20, () => '_cnd[orderBy]=none'],
])('too many %s are more than %i', (_, most, one) => {
  const isTooMany = (count: number): boolean => {
    const search = Array.from({ length: count }, (__, index) => one(index)).join('&');
    return faultsOf(() => list(`${search}&none=1`)).some((fault) => fault.endsWith(': too-many'));
  };
  expect([isTooMany(most), isTooMany(most + 1)]).toEqual([false, true]);
});

describe('messages', () => {
  test.each([
    ['_cnd[positon]=1', 'did you mean "position"?'],
    ['_cnd[orderby]=title', 'did you mean "orderBy"?'],
    ['_cnd[orderBy]=title,dsc', 'did you mean "desc"?'],
    ['_cnd[orderBy]=title,acs', 'did you mean "asc"?'],
    ['_cnd[autor.name]=1', 'did you mean "author"?'],
    ['_cnd[title][lik]=1', 'did you mean "like"?'],
    ['include[]=author', 'did you mean "include"?'],
    ['limit=5', 'did you mean "_cnd[limit]=OFFSET,LIMIT"?'],
    ['page[number]=2', 'did you mean "_cnd[limit]=OFFSET,LIMIT"?'],
    ['_offset=40', 'did you mean "_cnd[limit]=OFFSET,LIMIT"?'],
    ['sort=-title', 'did you mean "_cnd[orderBy]=FIELD,desc"?'],
    ['cnd[title]=x', 'did you mean "_cnd[FIELD]=VALUE"?'],
    ['_cond[title]=x', 'did you mean "_cnd[FIELD]=VALUE"?'],
    ['_CND[title][like]=x', 'did you mean "_cnd[FIELD]=VALUE"?'],
    ['ofset=5', 'did you mean "_cnd[limit]=OFFSET,LIMIT"?'],
    ['Filters[title]=x', 'did you mean "_cnd[FIELD]=VALUE"?'],
    ['orderBy=title', 'did you mean "_cnd[orderBy]"?'],
    ['_cnd[orderBy]=-title', '"-title" is not a field; for descending order write FIELD,desc'],
    ['_cnd[orderBy]=title+DESC', 'write FIELD,desc'],
    ['_cnd={"pages":10}', 'did you mean "_cnd[FIELD]=VALUE"?'],
    ['_cnd[]=x', 'A condition must follow: [field] or [field][operator]'],
    ['filter[title]=x', 'did you mean "_cnd[FIELD]=VALUE"?'],
    ['q=x', 'did you mean "_cnd[FIELD][like]=*TEXT*"?'],
    ['author=5', 'did you mean "_cnd[author]"?'],
    ['_cnd[sold_at]=2024-02-29T00:00:00+01:00', '; a + in a URL is written %2B'],
    ['expand=author', 'did you mean "include=RELATION"?'],
    ['_cnd[author][name][like]=x', 'did you mean "_cnd[author.name]"?'],
    ['_cnd[shelves][label]=x', 'did you mean "_cnd[shelves.label]"?'],
    ['_cnd[limit=5', 'did you mean "_cnd[limit]"?'],
    ['include=title', '"title" of Book is a field, not a relation'],
    ['fields=editor.born', 'The relation "editor" does not show the field "born" of Author'],
    ['_cnd[pages]=', 'to find records without a value, use _cnd[pages][null]=true'],
    ['_cnd[shelves][$count]=1.5', '"1.5" is not a valid value of "_cnd[shelves][$count]"; expected'],
    ['_cnd[any][0][title]=x', 'Book has no field "any"; did you mean "$any"?'],
    ['_cnd[$and][0][title]=x', '"$and" is not a group; there are $any, $all, $none'],
    ['_cnd[author][nme]=x', 'in, null; did you mean "_cnd[author.name]"?'],
    ['_cnd[author][nee]=x', 'in, null; did you mean "ne"?'],
    ['_cnd[author][$every]=x', '"$every" is not an operator of "author.author_id"'],
  ])('?%s: %s', (search, message) => {
    const { errors } = problemOf(() => list(search));
    expect(errors.map((fault) => fault.message).join('\n')).toContain(message);
  });
});
