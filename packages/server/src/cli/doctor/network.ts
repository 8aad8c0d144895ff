import { once } from 'node:events';
import { createServer } from 'node:net';
import { type ExternalTokens, probeJwks } from '../../accounts/external-tokens.ts';
import type { Config } from '../../config.ts';
import type { Address } from '../../ops/listen.ts';
import { messageOf, reasonOf, systemCode } from '../../system-error.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const JWKS = 'identity provider';
const PORT = 'port';
const METRICS_PORT = 'metrics port';
/** Long, because a machine that is busy is not a port that is taken. */
const ANSWER_TIMEOUT_MS = 10_000;

export async function checkJwks(external: ExternalTokens): Promise<Finding> {
  const where = external.jwks.kind === 'file' ? external.jwks.file : external.jwks.url;
  try {
    const { keys } = await probeJwks(external);
    if (keys === 0) return failed(JWKS, `there is no key at ${where}`, 'Check LEADTAP_JWKS_URL.');
    if (isPlainHttp(where))
      return warning(
        JWKS,
        `${where} is fetched without encryption`,
        'Use https:, or anyone on the way can forge tokens.',
      );
    return ok(JWKS, `${keys === 1 ? 'one key' : `${keys} keys`} at ${where}`);
  } catch (error) {
    return failed(JWKS, reasonOf(error, where), 'Check LEADTAP_JWKS_URL and the way to it.');
  }
}

const isPlainHttp = (where: string): boolean =>
  /^http:/.test(where) && !/^http:\/\/(localhost|127\.|\[::1\])/.test(where);

/** The port is free, or the service that holds it is a Leadtap. */
export const checkPort = ({ host, port }: Config): Promise<Finding> =>
  checkAddress(
    PORT,
    { host, port },
    {
      path: '/livez',
      text: '',
      change: 'LEADTAP_PORT',
      changeHost: 'LEADTAP_HOST',
    },
  );

/** Without it `serve` does not start, because metrics were asked for. */
export async function checkMetricsPort({ metricsAddress }: Config): Promise<Finding> {
  const variable = 'LEADTAP_METRICS_ADDRESS';
  if (metricsAddress === 'off') return ok(METRICS_PORT, `${variable} is off`);
  return checkAddress(METRICS_PORT, metricsAddress, {
    path: '/metrics',
    text: 'leadtap_',
    change: variable,
    changeHost: variable,
  });
}

interface AddressCheck {
  /** What Leadtap serves there, and a text that is in it. */
  readonly path: string;
  readonly text: string;
  readonly change: string;
  readonly changeHost: string;
}

async function checkAddress(
  check: string,
  { host, port }: Address,
  { change, changeHost, ...served }: AddressCheck,
): Promise<Finding> {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const refusal = await tryToListen(host, port);
  if (refusal === undefined) return ok(check, port === 0 ? 'any free one' : `${address} is free`);
  if (refusal === 'EADDRINUSE')
    return (await answers(host, port, served))
      ? ok(check, `${address} is served, and alive`)
      : failed(check, `${address} is taken by another program`, `End that program, or set ${change}.`);
  if (refusal === 'EACCES')
    return failed(
      check,
      `this user may not listen on ${address}`,
      `Set the port in ${change} to 1024 or more.`,
    );
  return failed(check, `this machine cannot listen on ${address} (${refusal})`, `Check ${changeHost}.`);
}

/** Why not, as the system's code; undefined when it works. The port is free again afterwards. */
async function tryToListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return undefined;
  } catch (error) {
    return systemCode(error) ?? messageOf(error);
  }
}

async function answers(
  host: string,
  port: number,
  { path, text }: Pick<AddressCheck, 'path' | 'text'>,
): Promise<boolean> {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const authority = `${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
  try {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const response = await fetch(`http://${authority}${path}`, { signal });
    const body = await response.text();
    return response.ok && body.includes(text);
  } catch {
    return false;
  }
}
