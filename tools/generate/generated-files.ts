import { readFile } from 'node:fs/promises';
import { openApiDocument } from '@leadtap/contract';
import { clientContract } from './client-contract.ts';
import { sqliteSchema } from './dump-sqlite-schema.ts';
import { errorsDocument } from './errors-document.ts';
import { pollersDocument } from './pollers-document.ts';

export interface GeneratedFile {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
}

async function contractVersion(root: URL): Promise<string> {
  const manifest = JSON.parse(await readFile(new URL('packages/contract/package.json', root), 'utf8'));
  return String(manifest.version);
}

/** Every committed file that is made from code, as it must be now. */
export async function generatedFiles(root: URL): Promise<readonly GeneratedFile[]> {
  const openapi = openApiDocument(await contractVersion(root));
  return [
    { path: 'packages/contract/openapi.json', text: `${JSON.stringify(openapi, null, 2)}\n` },
    { path: 'packages/client/src/contract.ts', text: clientContract(openapi) },
    { path: 'docs/errors.md', text: errorsDocument() },
    { path: 'docs/integrations/pollers.md', text: pollersDocument() },
    { path: 'packages/server/schema/sqlite.sql', text: await sqliteSchema() },
  ];
}
