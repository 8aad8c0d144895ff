/** Programs of this and of earlier versions, run on one database. */
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import type { ReleaseDatabase } from './release.ts';

/** The key that the tokens of the fixtures are signed with. It protects nothing. */
const SIGNING_KEY = 'the-key-of-release-fixtures-protects-nothing';

export interface Instance {
  readonly url: string;
  /** As a load balancer and its supervisor see it: the service answers what it has begun, and exits. */
  stop(): Promise<void>;
}

/** Without `bin`: the built program of this version. */
export function programOf(
  { folder, url }: Pick<ReleaseDatabase, 'folder' | 'url'>,
  bin?: string,
  settings: Readonly<Record<string, string>> = {},
) {
  const env = {
    LEADTAP_DATABASE_URL: url,
    LEADTAP_SIGNING_KEY: SIGNING_KEY,
    LEADTAP_METRICS_ADDRESS: 'off',
    LEADTAP_INTAKE: 'on',
    // Its files are not part of the fixtures.
    LEADTAP_CONSOLE: 'off',
    ...settings,
  };
  const start = (argv: readonly string[]) => spawnLeadtap(argv, env, folder, undefined, bin);
  const run = (...argv: readonly string[]) => start(argv).ended;
  return {
    start,
    run,
    serve: async (): Promise<Instance> => {
      const { child, lines, ended } = start(['serve', '--port', '0']);
      for (let line = await lines.next(); !line.done; line = await lines.next()) {
        const { msg, url } = JSON.parse(line.value);
        if (msg !== 'serving new leads') continue;
        const stop = async () => {
          child.kill('SIGTERM');
          await ended;
        };
        return { url, stop };
      }
      throw new Error((await ended).stderr);
    },
  };
}

export type LeadtapVersion = ReturnType<typeof programOf>;
