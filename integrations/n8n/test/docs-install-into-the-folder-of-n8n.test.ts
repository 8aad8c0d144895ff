import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../packages/testing/harness/temp-folder.ts';

const DOCS = readFileSync(new URL('../../../docs/integrations/n8n.md', import.meta.url), 'utf8');

/** npm looks for the nearest folder with a `package.json`, and many home folders have one. */
it('the documented command installs into ~/.n8n/nodes, also below a folder with a package.json', async () => {
  const [, options = ''] = /^npm install (.+) \/path\/to\/n8n-nodes-leadtap-[\d.]+\.tgz$/m.exec(DOCS) ?? [];
  expect(options).not.toBe('');
  const home = tempFolder();
  const nodes = join(home, '.n8n', 'nodes');
  const node = join(home, 'n8n-nodes-leadtap');
  for (const folder of [nodes, node]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(home, 'package.json'), '{}');
  writeFileSync(join(node, 'package.json'), '{ "name": "n8n-nodes-leadtap", "version": "1.0.0" }');
  // By a shell, because `~` is in the command.
  await promisify(execFile)('sh', ['-c', `npm install ${options} --offline ${node}`], {
    cwd: home,
    env: { ...process.env, HOME: home },
  });
  expect(existsSync(join(nodes, 'node_modules', 'n8n-nodes-leadtap', 'package.json'))).toBe(true);
  expect(existsSync(join(home, 'node_modules'))).toBe(false);
});
