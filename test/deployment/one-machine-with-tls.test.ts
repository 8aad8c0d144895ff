/** docs/deployment.md, "One machine with TLS": the built program with the settings of the page, behind the proxies with the files of deploy/. */
import { request } from 'node:https';
import { MAX_INTAKE_BYTES } from '@leadtap/contract';
import { expect, onTestFinished, test } from 'vitest';
import { makeCertificate } from '../../packages/testing/harness/certificate.ts';
import { runLeadtap, spawnLeadtap } from '../../packages/testing/harness/leadtap-process.ts';
import { expectProblem } from '../../packages/testing/harness/problem.ts';
import { tempFolder } from '../../packages/testing/harness/temp-folder.ts';
import { findOnPath, findProgram, type Program } from '../../packages/testing/servers/find-program.ts';
import { freePort } from '../../packages/testing/servers/free-port.ts';
import { NGINX } from '../../packages/testing/servers/nginx.ts';
import { PrivateServer } from '../../packages/testing/servers/private-server.ts';
import { ROOT } from './support/dockerfile.ts';
import { readText } from './support/manifests.ts';

const HOST = 'leads.example.com';
const CADDY: Program = { name: 'Caddy', debian: 'caddy', homebrew: 'caddy', find: () => findOnPath('caddy') };

/** The lines of the block that writes `.env`. */
function documentedSettings(): Record<string, string> {
  const [, block = ''] = /tee \/var\/lib\/leadtap\/\.env <<'END'\n([\s\S]*?)^ *END$/m.exec(
    readText('docs/deployment.md'),
  ) ?? [''];
  return Object.fromEntries(
    block
      .trim()
      .split('\n')
      .map((line) => line.trim().split('=', 2)),
  );
}

async function startLeadtap() {
  const [port, cwd] = [await freePort(), tempFolder()];
  const env = {
    ...documentedSettings(),
    LEADTAP_PORT: String(port),
    LEADTAP_METRICS_ADDRESS: 'off',
  };
  await runLeadtap(['org', 'apply', `${ROOT}examples/organisation.json`], env, cwd);
  await runLeadtap(['leads', 'import', `${ROOT}examples/leads.csv`], env, cwd);
  const scopes = ['--scope', 'leads:read', '--scope', 'leads:write'];
  const { stdout: token } = await runLeadtap(['token', 'issue', '--user', 'ada', ...scopes], env, cwd);
  const { child, lines, ended } = spawnLeadtap(['serve'], env, cwd);
  await lines.next();
  const stop = () => child.kill('SIGKILL') && ended;
  return { port, token: token.trim(), stop };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** As a client would, but to this machine instead of the address that the name has. With a body it is a POST. */
const send = (
  port: number,
  ca: Buffer,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      ca,
      method: body === undefined ? 'GET' : 'POST',
      servername: HOST,
      headers: { host: HOST, ...headers },
    };
    const sent = request(options, (response) => {
      let received = '';
      response.setEncoding('utf8').on('data', (text) => {
        received += text;
      });
      const { statusCode: status = 0, headers } = response;
      response.on('end', () => resolve({ status, headers, body: received }));
    });
    sent.on('error', reject).end(body);
  });

/** The command of each proxy, with the file of deploy/ in which only ports and paths are replaced. */
const PROXIES = {
  nginx: (server: PrivateServer, upstreamPort: number) => {
    const site = readText('deploy/nginx/one-machine.conf')
      .replace('127.0.0.1:3000', `127.0.0.1:${upstreamPort}`)
      .replace('listen 443 ssl', `listen 127.0.0.1:${server.port} ssl`)
      .replaceAll('/etc/nginx/leadtap', server.folder);
    server.write('polls.conf', readText('deploy/nginx/polls.conf'));
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${server.folder}/${name};`,
    );
    const file = server.write(
      'nginx.conf',
      `daemon off; pid ${server.folder}/nginx.pid; events {} http { access_log off; ${paths.join(' ')} ${site} }`,
    );
    return { command: findProgram(NGINX), argv: ['-e', 'stderr', '-p', server.folder, '-c', file] };
  },
  Caddy: (server: PrivateServer, upstreamPort: number) => {
    const site = readText('deploy/caddy/Caddyfile')
      .replace(
        `${HOST} {`,
        `https://${HOST}:${server.port} {\n\tbind 127.0.0.1\n\ttls ${server.folder}/fullchain.pem ${server.folder}/privkey.pem`,
      )
      .replace('127.0.0.1:3000', `127.0.0.1:${upstreamPort}`);
    const global = `{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system ${server.folder}\n}\n`;
    const file = server.write('Caddyfile', `${global}${site}`);
    return { command: findProgram(CADDY), argv: ['run', '--config', file, '--adapter', 'caddyfile'] };
  },
};

test.each(['nginx', 'Caddy'] as const)(
  'polls and leads through %s are answered as by the service itself',
  async (name) => {
    const { port, token, stop } = await startLeadtap();
    const server = await PrivateServer.create({ name: name.toLowerCase(), endSignal: 'SIGTERM' });
    onTestFinished(() => server.remove());
    const { cert, key } = makeCertificate(tempFolder(), HOST);
    server.write('fullchain.pem', cert.toString());
    server.write('privkey.pem', key.toString());
    await server.start({
      ...PROXIES[name](server, port),
      ask: () => send(server.port, cert, '/livez'),
    });

    const poll = (headers: Record<string, string>) =>
      send(server.port, cert, '/automation/new-leads?limit=1', headers);
    const authorization = `Bearer ${token}`;
    const forged = { authorization, 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    for (const headers of [{ authorization }, forged]) {
      const { status, headers: answered, body } = await poll(headers);
      expect(status).toBe(200);
      expect(JSON.parse(body)).toHaveLength(1);
      expect(answered['link']).toMatch(/^<https:\/\/leads\.example\.com\/automation\/new-leads\?since=/);
    }
    const { headers } = await send(server.port, cert, '/');
    expect(headers['content-type']).toMatch(/^text\/html/);

    const post = (bytes: number) => {
      const sent = { authorization, 'content-type': 'application/json' };
      return send(server.port, cert, '/leads', sent, '{"firstName":"Ada"}'.padEnd(bytes, ' '));
    };
    expect((await post(MAX_INTAKE_BYTES)).status).toBe(201);
    await expectProblem(await post(MAX_INTAKE_BYTES + 1), 'payload-too-large');

    if (name === 'nginx') {
      await stop();
      await expectProblem(await poll({ authorization }), 'unavailable');
    }
  },
);
