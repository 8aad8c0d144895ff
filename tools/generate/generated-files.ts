import { readFile } from 'node:fs/promises';
import { openApiDocument } from '@leadtap/contract';
import { clientContract } from './client-contract.ts';
import { docsPage } from './docs-page/page.ts';
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
  const version = await contractVersion(root);
  const openapi = openApiDocument(version);
  const docsStyle = await readFile(new URL('tools/generate/docs-page/style.css', root), 'utf8');
  return [
    { path: 'packages/contract/openapi.json', text: `${JSON.stringify(openapi, null, 2)}\n` },
    { path: 'packages/client/src/contract.ts', text: clientContract(openapi) },
    { path: 'packages/server/assets/docs.html', text: docsPage(version, docsStyle) },
    { path: 'docs/errors.md', text: errorsDocument() },
    { path: 'docs/integrations/pollers.md', text: pollersDocument() },
    { path: 'packages/server/src/store/sqlite/schema.sql', text: await sqliteSchema() },
  ];
}
