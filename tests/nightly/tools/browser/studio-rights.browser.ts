/** People whose role lets them change and delete some records, and not others. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken, tokenLine } from '../../../../engine/access/tokens.ts';
import { formsOf, runStudio, savedRecord } from './studio-page.ts';

const REPAIR = `type: Repair
history: true
label: number
fields:
  number: { type: string, required: true }
  state: { type: string, enum: [draft, done], default: draft }
  note: { type: string }
`;
const ROLES = {
  owner: `role: owner
read: { '*': true }
write: { '*': true }
`,
  clerk: `role: clerk
read: { Repair: true }
update: { Repair: { where: { state: draft }, to: {} } }
delete: { Repair: { where: { state: draft } } }
create: { Repair: true }
history: [Repair]
`,
};
const access = mkdtempSync(join(tmpdir(), 'rights-'));
for (const [name, text] of Object.entries(ROLES)) writeFileSync(join(access, `${name}.yaml`), text);
afterAll(() => rmSync(access, { recursive: true }));

const [owner, clerk] = [createToken(), createToken()];
const tokens = [
  tokenLine({ name: 'olga', role: 'owner', claims: [] }, owner),
  tokenLine({ name: 'clara', role: 'clerk', claims: [] }, clerk),
].join(';');
const { server, visit } = runStudio({
  files: { 'repair.yaml': REPAIR },
  settings: { accessDirectory: access, tokens },
});
const { ask, open, input, save } = formsOf(server, () => owner);

test('a record offers its change, deletion and undo until its state forbids them', async () => {
  await ask('POST', 'repairs', [{ number: 'R-1', note: 'old' }, { number: 'R-2' }]);
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  await page.addInitScript(`sessionStorage.setItem('records-token', ${JSON.stringify(clerk)})`);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await open(page, '/repairs/2');
  await button('Delete').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await button('Undo').click();
  await page.getByText('“R-2” is back').waitFor();
  await open(page, '/repairs/1/edit');
  await input(page, 'Note').fill('new');
  await save(page);
  await savedRecord(page, 'repairs');
  await page.getByRole('tab', { name: 'History' }).click();
  await button('Put back').waitFor();
  await ask('PATCH', 'repairs/1', { state: 'done' });
  await open(page, '/repairs/1');
  const told = page.waitForResponse((answer) => answer.request().method() === 'OPTIONS');
  await page.reload();
  expect((await told).headers()['allow']).toBe('GET, HEAD, OPTIONS');
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByText('Draft → Done').waitFor();
  for (const name of ['Put back', 'Delete']) expect(await button(name).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Edit', exact: true }).count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});
