import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../../../../../packages/server/bin/leadtap.js', import.meta.url));

/** As `npm start`, the image and the systemd unit start the service. Other commands are run as they are. */
const SERVE_SETTINGS = ['--max-semi-space-size=8', '--max-old-space-size=384'];

/** The folder of the program, and its environment. */
export interface Home {
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
}

export const sqliteIn = (folder: string): Home => ({
  folder,
  settings: { LEADTAP_DATABASE_URL: `sqlite:${databaseFile(folder)}` },
});

export const databaseFile = (folder: string): string => join(folder, 'leadtap.db');
export const signingKeyFile = (folder: string): string => join(folder, 'signing.key');

/**
 * Starts the real program as an operator would: everything has its default, but for addresses and files. It runs in its
 * folder, where no `.env` lies, and without what the environment may tell it.
 */
export function run(
  { folder, settings }: Home,
  args: readonly string[],
  stdout: 'pipe' | 'ignore' | number,
): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LEADTAP_'));
  const env = {
    ...Object.fromEntries(inherited),
    LEADTAP_SIGNING_KEY_FILE: signingKeyFile(folder),
    // Any free port: several instances run beside each other.
    LEADTAP_METRICS_ADDRESS: '127.0.0.1:0',
    ...settings,
  };
  return spawn(process.execPath, [...(args[0] === 'serve' ? SERVE_SETTINGS : []), BIN, ...args], {
    cwd: folder,
    env,
    stdio: ['pipe', stdout, 'inherit'],
  });
}

/** Runs a command to its end and gives what it printed. */
export async function leadtap(
  home: Home,
  args: readonly string[],
  input: Iterable<string> | AsyncIterable<string> = [],
): Promise<string> {
  const child = run(home, args, 'pipe');
  const chunks: string[] = [];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  const ended = once(child, 'close');
  if (child.stdin) await pipeline(Readable.from(input), child.stdin);
  const [code] = await ended;
  if (code !== 0) throw new Error(`leadtap ${args.join(' ')} ended with ${code}`);
  return chunks.join('');
}
