import { once } from 'node:events';
import { createServer } from 'node:net';
import { type ExternalTokens, probeJwks } from '../../accounts/external-tokens.ts';
import type { Config } from '../../config.ts';
import { messageOf, reasonOf, systemCode } from '../../system-error.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const JWKS = 'identity provider';
const PORT = 'port';
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
export async function checkPort({ host, port }: Config): Promise<Finding> {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const refusal = await tryToListen(host, port);
  if (refusal === undefined) return ok(PORT, port === 0 ? 'any free one' : `${address} is free`);
  if (refusal === 'EADDRINUSE')
    return (await answersLivez(host, port))
      ? ok(PORT, `${address} is served, and alive`)
      : failed(PORT, `${address} is taken by another program`, 'End that program, or set LEADTAP_PORT.');
  if (refusal === 'EACCES')
    return failed(PORT, `this user may not listen on ${address}`, 'Set LEADTAP_PORT to 1024 or more.');
  return failed(PORT, `this machine cannot listen on ${address} (${refusal})`, 'Check LEADTAP_HOST.');
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

async function answersLivez(host: string, port: number): Promise<boolean> {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const authority = `${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
  try {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const response = await fetch(`http://${authority}/livez`, { signal });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
