/** PUBLIC_URL in responses, alone and behind proxies that strip a prefix and terminate TLS. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/leaving.ts';
import { type Ask, follow, HOST, JSON_TYPE, PREFIX, usePublicServer } from '../support/public-url.ts';

const server = usePublicServer();

const MISSING = ['nginx', 'haproxy', 'openssl'].filter((tool) => spawnSync('which', [tool]).status !== 0);

(MISSING.length === 0 ? describe : describe.skip)(
  `proxies${MISSING.length === 0 ? '' : `, skipped without ${MISSING.join(' and ')}: .ci/install ${MISSING.join(' ')}`}`,
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'proxies-'));
    const file = (name: string, text: string): string => {
      writeFileSync(join(directory, name), text);
      return join(directory, name);
    };

    beforeAll(() => {
      const names = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'certificate.pem')];
      const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
      execFileSync('openssl', ['req', '-x509', ...curve, ...names, '-subj', '/CN=records.localhost'], {
        stdio: 'ignore',
      });
      const both = execFileSync('cat', [join(directory, 'certificate.pem'), join(directory, 'key.pem')], {
        encoding: 'utf8',
      });
      file('both.pem', both);
    });

    const through =
      (port: number): Ask =>
      (title, headers = {}, body) =>
        new Promise((resolve, reject) => {
          const [method = 'GET', path = '/'] = title.split(' ', 2);
          const all = { ...HOST, ...headers, ...(body === undefined ? {} : { 'content-length': String(body.length) }) };
          const options = { port, path, method, headers: all, rejectUnauthorized: false, agent: false } as const;
          const sent = request({ host: '127.0.0.1', ...options }, (response) => {
            let text = '';
            response.on('data', (piece: Buffer) => (text += piece.toString('latin1')));
            response.on('error', reject);
            response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
          });
          sent.on('error', reject);
          sent.end(body);
        });

    async function behind(command: string, words: readonly string[], port: number, run: (ask: Ask) => Promise<void>) {
      const child = spawn(command, words, { stdio: ['ignore', 'ignore', 'pipe'] });
      let said = '';
      child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
      const ask = through(port);
      try {
        await until(async () => {
          if (child.exitCode !== null) throw new Error(`${command}: ${said}`);
          return ask('GET /').then(
            () => true,
            () => false,
          );
        });
        await run(ask);
      } finally {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        if (child.exitCode === null) {
          child.kill('SIGTERM');
          await ended;
        }
      }
    }

    it('nginx, also one that compresses and weakens tags', async () => {
      const port = await freePort();
      const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const pass = `proxy_pass ${server.url}/; proxy_http_version 1.1; proxy_set_header Host $host;`;
      const configuration = file(
        'nginx.conf',
        `${process.getuid?.() === 0 ? 'user root;' : ''}
        daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log stderr crit;
        events {}
        http {
          access_log off;
          ${folders.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n')}
          server {
            listen 127.0.0.1:${port} ssl;
            ssl_certificate ${directory}/certificate.pem; ssl_certificate_key ${directory}/key.pem;
            location ${PREFIX}/ { ${pass} }
            location /weak/ { ${pass} gzip on; gzip_min_length 1; gzip_types application/json; }
          }
        }`,
      );
      await behind('nginx', ['-c', configuration, '-p', directory, '-e', 'stderr'], port, async (ask) => {
        await follow(ask);
        const { headers } = await ask('GET /weak/api/tax-classes/1', { 'accept-encoding': 'gzip' });
        expect(headers.etag).toMatch(/^W\//);
        const change = { ...JSON_TYPE, 'if-match': String(headers.etag) };
        const { status, text } = await ask('PUT /weak/api/tax-classes/1', change, '{}');
        expect([status, JSON.parse(text).detail]).toEqual([412, expect.stringContaining('nginx: "gzip off;"')]);
      });
    });

    it('HAProxy', async () => {
      const port = await freePort();
      const configuration = file(
        'haproxy.cfg',
        `defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend public
  bind 127.0.0.1:${port} ssl crt ${directory}/both.pem
  http-request set-path %[path,regsub(^${PREFIX}/,/)]
  default_backend records
backend records
  server one ${new URL(server.url).host}
`,
      );
      await behind('haproxy', ['-db', '-f', configuration], port, follow);
    });
  },
);
