/** What the Leadtap that runs on this machine says of itself. */
import type { StatusJson } from '@leadtap/contract';
import { type Config, describeDatabase } from '../config.ts';
import { createHostCheck } from '../hooks/url.ts';
import type { Address } from '../ops/listen.ts';
import type { CommandContext } from './context.ts';
import { writeHint } from './output.ts';

export const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** What the Leadtap at the metrics address says of itself. Undefined if there is none. */
export async function readInstance({ metricsAddress }: Config): Promise<StatusJson | undefined> {
  if (metricsAddress === 'off' || metricsAddress.port === 0) return undefined;
  try {
    const report: StatusJson = JSON.parse(await readFrom(metricsAddress, '/status.json'));
    return typeof report.database?.address === 'string' && Array.isArray(report.errors) ? report : undefined;
  } catch {
    return undefined;
  }
}

/** Long, so that a busy machine is not reported as another program. */
const RESPONSE_TIMEOUT_MS = 10_000;

export async function readFrom({ host, port }: Address, path: string): Promise<string> {
  const reachableHost = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const response = await fetch(`http://${bracketed(reachableHost)}:${port}${path}`, { signal });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.text();
}

export interface ServiceProblem {
  /** For a cell of a table. */
  readonly reason: string;
  readonly message: string;
}

/**
 * Why the running service does nothing with what a command has stored, or sends nothing to this URL. Undefined: it does, or it cannot be
 * asked.
 */
export function findServiceProblem(
  config: Config,
  instance: StatusJson | undefined,
  url?: string,
): ServiceProblem | undefined {
  const { metricsAddress, database } = config;
  if (metricsAddress === 'off' || metricsAddress.port === 0) return undefined;
  const place = `${bracketed(metricsAddress.host)}:${metricsAddress.port}`;
  if (!instance)
    return {
      reason: 'no service',
      message: `No service runs: none answers at ${place} (LEADTAP_METRICS_ADDRESS). Start it: \`leadtap serve\`. If it runs on another machine, ignore this.`,
    };
  const { address } = instance.database;
  if (address !== describeDatabase(database))
    return {
      reason: 'other database',
      message: `The service that runs uses another database: ${address}. This command has used ${describeDatabase(database)}. Run it in the folder of the service, or set LEADTAP_DATABASE_URL.`,
    };
  const { hookHosts } = instance;
  if (url === undefined || hookHosts === undefined) return undefined;
  if (hookHosts === null)
    return {
      reason: 'webhooks off',
      message: 'The service that runs has LEADTAP_HOOKS=off. Remove it there, and restart the service.',
    };
  return createHostCheck(hookHosts)(url)
    ? undefined
    : {
        reason: 'host not allowed',
        message: `LEADTAP_HOOK_HOSTS of the service that runs lacks ${nameInList(url)}. Set it for the service, if it is not set yet, and restart the service.`,
      };
}

/** As LEADTAP_HOOK_HOSTS has it: the host alone means https. */
function nameInList(url: string): string {
  const { protocol, port, host, origin } = new URL(url);
  return protocol === 'https:' && port === '' ? host : origin;
}

/** Says so at once, before the person waits for what does not come. */
export async function warnAboutService(context: CommandContext, config: Config, url?: string): Promise<void> {
  const problem = findServiceProblem(config, await readInstance(config), url);
  if (problem) await writeHint(context, problem.message);
}
