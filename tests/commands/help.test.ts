import { commands } from '../../engine/cli.ts';

test.each(Object.entries(commands))('%s has its usage', async (name, { load }) => {
  const { usage } = await load();
  expect(usage.startsWith(`records ${name}`)).toBe(true);
});
