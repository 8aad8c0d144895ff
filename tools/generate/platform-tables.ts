import { PLATFORM_LIST } from '@leadtap/contract';

/** For docs/integrations/README.md. */
export const platformTable = (): string =>
  [
    '| platform | what you get | tested |',
    '|---|---|---|',
    '| [any URL](#paste-a-url) | Each new lead as an HTTP request; nothing to install | simulated |',
    ...PLATFORM_LIST.map(
      ({ id, name, summary, tested }) => `| [${name}](${id}.md) | ${summary} | ${tested} |`,
    ),
    '| [your own program](your-own-program.md) | A client for TypeScript; any language with HTTP works | with 1,000 random schedules of faults |',
  ].join('\n');

/** For docs/configuration.md. */
export function hookHostList(): string {
  const hosts = PLATFORM_LIST.flatMap(({ hookHosts }) => hookHosts).map((host) => `\`${host}\``);
  return `[Webhook subscriptions](webhooks.md) are accepted for URLs of ${hosts.slice(0, -1).join(', ')} and ${hosts.at(-1)}.`;
}
