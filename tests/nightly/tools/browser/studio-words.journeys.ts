/** Identifiers that are texts and UUIDs, and what descriptors say of values, labels and lists, in a German browser. */
import { violations } from './axe.ts';
import { formsOf, runStudio } from './studio-page.ts';

const COUNTRY = `type: Country
title: { one: Country, many: Countries }
section: Places
identifier: { name: code, type: string, maxLength: 10 }
label: name
fields: { name: { type: string, required: true }, rate: { type: decimal, precision: 5, scale: 2, shows: percent } }
`;
const PERSON = `type: Person
title: { one: Person, many: People }
identifier: { type: uuid }
label: '{last}, {first} ({country.name})'
list: { columns: [last, country, debt], order: [last desc] }
fields:
  first: { type: string }
  last: { type: string, required: true }
  currency: { type: string, default: EUR }
  debt: { type: decimal, precision: 8, scale: 2, shows: { money: currency } }
  about: { type: string, shows: markdown }
  tint: { type: string, shows: color }
relations:
  country: { kind: belongsTo, type: Country }
`;
const LOAN = `type: Loan
fields: { book: { type: string, required: true } }
relations: { to: { kind: belongsTo, type: Person } }
`;
const { server, visit } = runStudio({ files: { 'country.yaml': COUNTRY, 'person.yaml': PERSON, 'loan.yaml': LOAN } });
const shop = formsOf(server);
const LAPTOP = { locale: 'de-DE', timezoneId: 'Europe/Berlin', viewport: { width: 1366, height: 768 } } as const;

test.each(['new', 'a/b c,%'])('a record with the identifier %j is made, changed and deleted', async (code) => {
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/countries`);
  await page.getByRole('link', { name: 'Neu: Country', exact: true }).click();
  await shop.input(page, 'Code *').fill(code);
  await shop.input(page, 'Name *').fill('Neuland');
  await shop.input(page, 'Rate').fill('12,5');
  await page.keyboard.press('Control+s');
  await page.getByRole('heading', { name: 'Neuland' }).waitFor();
  await page.getByText('12,5 %').first().waitFor();
  await page.getByRole('link', { name: 'Bearbeiten' }).click();
  expect(await shop.input(page, 'Code *').count()).toBe(0);
  await shop.input(page, 'Name *').fill('Altland');
  await page.keyboard.press('Control+s');
  await page.getByRole('heading', { name: 'Altland' }).waitFor();
  expect((await shop.ask('GET', `countries/${encodeURIComponent(code)}`)).stored).toMatchObject({
    code,
    name: 'Altland',
  });
  await page.reload();
  await page.getByRole('button', { name: 'Löschen' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Löschen' }).click();
  await page.getByText('wurde gelöscht').waitFor();
  expect((await shop.ask('GET', `countries/${encodeURIComponent(code)}`)).status).toBe(404);
  expect(complaints).toEqual([]);
  await close();
});

test('labels of several fields, money, Markdown and colours are shown; lists begin as descriptors say', async () => {
  await shop.ask('POST', 'countries', [{ code: 'x, y', name: 'Xanadu' }]);
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/people/new`);
  await shop.input(page, 'Last *').fill('Meyer');
  await shop.input(page, 'First').fill('Anna');
  await shop.input(page, 'Debt').fill('1.234,5');
  await shop.input(page, 'About').fill('# Hallo\n\n**fett**, [sicher](https://example.com) und <b>roh</b>');
  await shop.input(page, 'Tint').fill('#0b6e5f');
  await page.getByRole('combobox', { name: 'Country' }).click();
  await page.keyboard.type('xan');
  await page.getByRole('option', { name: /Xanadu/ }).click();
  await page.keyboard.press('Control+s');
  await page.getByRole('heading', { name: 'Meyer, Anna (Xanadu)' }).waitFor();
  await page.getByText('1.234,50 €').first().waitFor();
  await page.locator('strong', { hasText: 'fett' }).waitFor();
  // HTML within it stays text.
  await page.getByText('<b>roh</b>').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.goto(`${server.url}/studio/people`);
  await page.getByText('Places', { exact: true }).waitFor();
  await page.getByRole('cell', { name: /1.234,50.€/ }).waitFor();
  const titles = (await page.getByRole('columnheader').allInnerTexts()).map((text) => text.split('\n')[0]?.trim());
  expect(titles).toEqual(['Last', 'Country', 'Debt']);
  await page.getByRole('cell', { name: 'Xanadu', exact: true }).click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Nur diese' }).click();
  await page.getByRole('button', { name: 'Filter Country ist „Xanadu“ ändern' }).waitFor();
  await page.getByText('1 Datensatz', { exact: true }).waitFor();
  // Files have the same labels, and find their records by them.
  await page.goto(`${server.url}/studio/loans`);
  await page.getByRole('button', { name: 'Mehr' }).click();
  await page.getByRole('menuitem', { name: 'Loans importieren' }).click();
  const buffer = Buffer.from('Book;To\nFaust;Meyer, Anna (Xanadu)\nMomo;Meyer\n');
  await page.setInputFiles('input[type=file]', { name: 'loans.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('button', { name: 'Ausprobieren' }).click();
  await page.getByRole('button', { name: '2 Datensätze importieren' }).click();
  await page.getByText('2 Datensätze wurden importiert').waitFor();
  const loans = (await shop.ask('GET', 'loans?fields=to.last')).stored as unknown as { to: { last: string } }[];
  expect(loans.map(({ to }) => to.last)).toEqual(['Meyer', 'Meyer']);
  expect(complaints).toEqual([]);
  await close();
});
