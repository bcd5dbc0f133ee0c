/** The files that `records init` copies into a project, and those for Prometheus. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { NODE_OPTIONS } from '../../bench/node-options.ts';
import { createMetrics } from '../../engine/metrics.ts';
import { readSettings } from '../../engine/settings/settings.ts';

const dockerfile = readFileSync('deploy/project/Dockerfile', 'utf8');
const { services, volumes } = parse(readFileSync('deploy/project/compose.yaml', 'utf8'));

const environment: Readonly<Record<string, string>> = Object.fromEntries(
  [...dockerfile.matchAll(/^ENV (.*)$/gm)].flatMap(([, text = '']) =>
    [...text.matchAll(/(\w+)=(?:"([^"]*)"|(\S*))/g)].map(([, name, quoted, plain]) => [name, quoted ?? plain]),
  ),
);

test('the image of a project starts Node.js with the options of `npm start`', () => {
  expect(environment['NODE_OPTIONS']).toBe(NODE_OPTIONS.join(' '));
});

test('the command of the image is that of the package', () => {
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(dockerfile).toContain(`ln -s /app/node_modules/record-engine/${bin.records} /usr/local/bin/records`);
  expect(dockerfile).toMatch(/^CMD \["records", "start"\]$/m);
  expect(dockerfile).toMatch(/^USER node$/m);
});

test('the image holds the descriptors, and the roles of projects that have some', () => {
  const copied = [...dockerfile.matchAll(/^COPY (.*)$/gm)].map(([, text]) => text);
  expect(copied).toEqual([
    'package.json package-lock.json *.tg[z] ./',
    'schema ./schema',
    'package.json acces[s] ./access/',
  ]);
});

test('the image and the image of the engine have one health check', () => {
  const check = /^HEALTHCHECK .*$/m;
  expect(check.exec(dockerfile)?.[0]).toBe(check.exec(readFileSync('deploy/Dockerfile', 'utf8'))?.[0]);
});

test('the compose file keeps the data, and gives the service time to stop', () => {
  const { volumes: mounted, ports, stop_grace_period: grace } = services.records;
  expect(mounted.map((mount: string) => mount.split(':'))).toEqual([[Object.keys(volumes)[0], '/app/data']]);
  expect(ports).toEqual(['127.0.0.1:3000:3000']);
  const { drainDelay, shutdownTimeout } = readSettings({ ...environment, TOKENS: '' });
  expect(1000 * Number.parseInt(grace, 10)).toBeGreaterThan(drainDelay + shutdownTimeout);
});

test('alerts are about metrics that the service has', async () => {
  const metrics = createMetrics();
  const pool = { server: 'db', pools: { requests: {} }, waiting: {}, shortages: {}, lag: 0 };
  metrics.watch(
    () => [pool] as never,
    async () => ({ isReady: true, isReachable: true }),
  );
  const known = new Set([...(await metrics.text()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const { groups } = parse(readFileSync('deploy/prometheus/records-alerts.yml', 'utf8'));
  const rules: readonly { readonly expr: string }[] = groups[0].rules;
  const named = rules.flatMap(({ expr }) => expr.match(/records_\w+/g) ?? []);
  expect(named.length).toBeGreaterThan(6);
  expect(named.filter((name) => !known.has(name.replace(/_bucket$/, '')))).toEqual([]);
});
